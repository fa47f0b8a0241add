-- Sales analysis: TPC-DS 2, 59, 74 and 75: weeks and years against those before. 20 views.

CREATE MATERIALIZED VIEW remote_lines AS
SELECT ws_sold_date_sk AS sold_date_sk, ws_ext_sales_price AS price FROM tpcds.web_sales
UNION ALL SELECT cs_sold_date_sk, cs_ext_sales_price FROM tpcds.catalog_sales;

CREATE MATERIALIZED VIEW remote_weeks AS
SELECT d_week_seq, d_year, d_day_name, sum(price) AS price
FROM remote_lines JOIN tpcds.date_dim ON sold_date_sk = d_date_sk GROUP BY 1, 2, 3;

CREATE MATERIALIZED VIEW remote_2001 AS
SELECT d_week_seq, d_day_name, sum(price) AS price FROM remote_weeks WHERE d_year = 2001 GROUP BY 1, 2;

CREATE MATERIALIZED VIEW remote_2002 AS
SELECT d_week_seq, d_day_name, sum(price) AS price FROM remote_weeks WHERE d_year = 2002 GROUP BY 1, 2;

CREATE MATERIALIZED VIEW remote_growth AS
SELECT o.d_week_seq, o.d_day_name, round(o.price / n.price, 2) AS ratio
FROM remote_2001 o JOIN remote_2002 n ON o.d_week_seq = n.d_week_seq - 53 AND o.d_day_name = n.d_day_name;

CREATE MATERIALIZED VIEW store_lines AS
SELECT ss_item_sk, ss_ticket_number, ss_customer_sk, ss_store_sk, ss_quantity, ss_sales_price, ss_ext_sales_price,
    ss_net_paid, d_week_seq, d_month_seq, d_day_name, d_year
FROM tpcds.store_sales JOIN tpcds.date_dim ON ss_sold_date_sk = d_date_sk;

CREATE MATERIALIZED VIEW store_weeks AS
SELECT d_week_seq, d_month_seq, ss_store_sk, d_day_name, sum(ss_sales_price) AS price
FROM store_lines GROUP BY 1, 2, 3, 4;

CREATE MATERIALIZED VIEW stores_first AS
SELECT s_store_name, s_store_id, d_week_seq, d_day_name, price
FROM store_weeks JOIN tpcds.store ON ss_store_sk = s_store_sk WHERE d_month_seq BETWEEN 1212 AND 1223;

CREATE MATERIALIZED VIEW stores_second AS
SELECT s_store_name, s_store_id, d_week_seq, d_day_name, price
FROM store_weeks JOIN tpcds.store ON ss_store_sk = s_store_sk WHERE d_month_seq BETWEEN 1224 AND 1235;

CREATE MATERIALIZED VIEW store_growth AS
SELECT o.s_store_name, o.s_store_id, o.d_week_seq, o.d_day_name, round(o.price / n.price, 4) AS ratio
FROM stores_first o JOIN stores_second n
    ON o.s_store_id = n.s_store_id AND o.d_week_seq = n.d_week_seq - 52 AND o.d_day_name = n.d_day_name;

CREATE MATERIALIZED VIEW store_paid AS
SELECT c_customer_id, c_first_name, c_last_name, d_year, sum(ss_net_paid) AS paid
FROM store_lines JOIN tpcds.customer ON c_customer_sk = ss_customer_sk
WHERE d_year IN (2001, 2002) GROUP BY 1, 2, 3, 4;

CREATE MATERIALIZED VIEW web_lines AS
SELECT ws_item_sk, ws_order_number, ws_bill_customer_sk, ws_quantity, ws_ext_sales_price, ws_net_paid, d_year
FROM tpcds.web_sales JOIN tpcds.date_dim ON ws_sold_date_sk = d_date_sk;

CREATE MATERIALIZED VIEW web_paid AS
SELECT c_customer_id, d_year, sum(ws_net_paid) AS paid
FROM web_lines JOIN tpcds.customer ON c_customer_sk = ws_bill_customer_sk
WHERE d_year IN (2001, 2002) GROUP BY 1, 2;

CREATE MATERIALIZED VIEW web_turners AS
SELECT s2.c_customer_id, s2.c_first_name, s2.c_last_name
FROM store_paid s1 JOIN store_paid s2 ON s1.c_customer_id = s2.c_customer_id
    JOIN web_paid w1 ON s1.c_customer_id = w1.c_customer_id JOIN web_paid w2 ON s1.c_customer_id = w2.c_customer_id
WHERE s1.d_year = 2001 AND s2.d_year = 2002 AND w1.d_year = 2001 AND w2.d_year = 2002 AND s1.paid > 0 AND w1.paid > 0
    AND w2.paid / w1.paid > s2.paid / s1.paid;

CREATE MATERIALIZED VIEW books AS
SELECT i_item_sk, i_brand_id, i_class_id, i_category_id, i_manufact_id FROM tpcds.item
WHERE i_category IN ('Books', 'Home', 'Sports');

CREATE MATERIALIZED VIEW store_books AS
SELECT d_year, i_brand_id, i_class_id, i_category_id, i_manufact_id, ss_quantity - coalesce(sr_return_quantity, 0) AS n,
    ss_ext_sales_price - coalesce(sr_return_amt, 0) AS amount
FROM store_lines JOIN books ON ss_item_sk = i_item_sk
    LEFT JOIN tpcds.store_returns ON ss_ticket_number = sr_ticket_number AND ss_item_sk = sr_item_sk
WHERE d_year IN (2001, 2002);

CREATE MATERIALIZED VIEW catalog_books AS
SELECT d_year, i_brand_id, i_class_id, i_category_id, i_manufact_id, cs_quantity - coalesce(cr_return_quantity, 0) AS n,
    cs_ext_sales_price - coalesce(cr_return_amount, 0) AS amount
FROM tpcds.catalog_sales JOIN tpcds.date_dim ON cs_sold_date_sk = d_date_sk JOIN books ON cs_item_sk = i_item_sk
    LEFT JOIN tpcds.catalog_returns ON cs_order_number = cr_order_number AND cs_item_sk = cr_item_sk
WHERE d_year IN (2001, 2002);

CREATE MATERIALIZED VIEW web_books AS
SELECT d_year, i_brand_id, i_class_id, i_category_id, i_manufact_id, ws_quantity - coalesce(wr_return_quantity, 0) AS n,
    ws_ext_sales_price - coalesce(wr_return_amt, 0) AS amount
FROM web_lines JOIN books ON ws_item_sk = i_item_sk
    LEFT JOIN tpcds.web_returns ON ws_order_number = wr_order_number AND ws_item_sk = wr_item_sk
WHERE d_year IN (2001, 2002);

CREATE MATERIALIZED VIEW books_sold AS
SELECT d_year, i_brand_id, i_class_id, i_category_id, i_manufact_id, sum(n) AS n, sum(amount) AS amount
FROM (SELECT * FROM catalog_books UNION ALL SELECT * FROM store_books UNION ALL SELECT * FROM web_books)
GROUP BY 1, 2, 3, 4, 5;

CREATE MATERIALIZED VIEW books_falling AS
SELECT o.i_brand_id, o.i_class_id, o.i_category_id, o.i_manufact_id, o.n AS before, n.n AS after,
    n.amount - o.amount AS difference
FROM books_sold o JOIN books_sold n USING (i_brand_id, i_class_id, i_category_id, i_manufact_id)
WHERE o.d_year = 2001 AND n.d_year = 2002 AND o.n > 0 AND n.n / o.n < 0.9;
