-- Customers: TPC-DS 4, 11, 23, 38 and 87: what they spend, how that grows, and on which channels they are. 19 views.

CREATE MATERIALIZED VIEW store_lines AS
SELECT ss_item_sk, ss_customer_sk, ss_quantity, ss_sales_price, ss_ext_list_price, ss_ext_discount_amt,
    ss_ext_sales_price, ss_ext_wholesale_cost, d_date, d_year, d_month_seq
FROM tpcds.store_sales JOIN tpcds.date_dim ON ss_sold_date_sk = d_date_sk WHERE d_year IN (2000, 2001);

CREATE MATERIALIZED VIEW catalog_lines AS
SELECT cs_item_sk, cs_bill_customer_sk, cs_quantity, cs_list_price, cs_ext_list_price, cs_ext_discount_amt,
    cs_ext_sales_price, cs_ext_wholesale_cost, d_date, d_year, d_month_seq
FROM tpcds.catalog_sales JOIN tpcds.date_dim ON cs_sold_date_sk = d_date_sk WHERE d_year IN (2000, 2001);

CREATE MATERIALIZED VIEW web_lines AS
SELECT ws_item_sk, ws_bill_customer_sk, ws_quantity, ws_list_price, ws_ext_list_price, ws_ext_discount_amt,
    ws_ext_sales_price, ws_ext_wholesale_cost, d_date, d_year, d_month_seq
FROM tpcds.web_sales JOIN tpcds.date_dim ON ws_sold_date_sk = d_date_sk WHERE d_year IN (2000, 2001);

CREATE MATERIALIZED VIEW store_years AS
SELECT c_customer_id, c_first_name, c_last_name, c_preferred_cust_flag, d_year,
    sum((ss_ext_list_price - ss_ext_wholesale_cost - ss_ext_discount_amt + ss_ext_sales_price) / 2) AS total,
    sum(ss_ext_list_price - ss_ext_discount_amt) AS listed
FROM store_lines JOIN tpcds.customer ON ss_customer_sk = c_customer_sk GROUP BY 1, 2, 3, 4, 5;

CREATE MATERIALIZED VIEW catalog_years AS
SELECT c_customer_id, d_year,
    sum((cs_ext_list_price - cs_ext_wholesale_cost - cs_ext_discount_amt + cs_ext_sales_price) / 2) AS total
FROM catalog_lines JOIN tpcds.customer ON cs_bill_customer_sk = c_customer_sk GROUP BY 1, 2;

CREATE MATERIALIZED VIEW web_years AS
SELECT c_customer_id, d_year,
    sum((ws_ext_list_price - ws_ext_wholesale_cost - ws_ext_discount_amt + ws_ext_sales_price) / 2) AS total,
    sum(ws_ext_list_price - ws_ext_discount_amt) AS listed
FROM web_lines JOIN tpcds.customer ON ws_bill_customer_sk = c_customer_sk GROUP BY 1, 2;

CREATE MATERIALIZED VIEW store_grown AS
SELECT o.c_customer_id, o.c_first_name, o.c_last_name, o.c_preferred_cust_flag, n.total / o.total AS total,
    n.listed / o.listed AS listed
FROM store_years o JOIN store_years n ON o.c_customer_id = n.c_customer_id
WHERE o.d_year = 2000 AND n.d_year = 2001 AND o.total > 0 AND o.listed > 0;

CREATE MATERIALIZED VIEW catalog_grown AS
SELECT o.c_customer_id, n.total / o.total AS total
FROM catalog_years o JOIN catalog_years n ON o.c_customer_id = n.c_customer_id
WHERE o.d_year = 2000 AND n.d_year = 2001 AND o.total > 0;

CREATE MATERIALIZED VIEW web_grown AS
SELECT o.c_customer_id, n.total / o.total AS total, n.listed / o.listed AS listed
FROM web_years o JOIN web_years n ON o.c_customer_id = n.c_customer_id
WHERE o.d_year = 2000 AND n.d_year = 2001 AND o.total > 0 AND o.listed > 0;

CREATE MATERIALIZED VIEW catalog_turners AS
SELECT s.c_customer_id, s.c_first_name, s.c_last_name, s.c_preferred_cust_flag
FROM store_grown s JOIN catalog_grown c ON s.c_customer_id = c.c_customer_id
    JOIN web_grown w ON s.c_customer_id = w.c_customer_id
WHERE c.total > s.total AND c.total > w.total;

CREATE MATERIALIZED VIEW web_turners AS
SELECT s.c_customer_id, s.c_first_name, s.c_last_name
FROM store_grown s JOIN web_grown w ON s.c_customer_id = w.c_customer_id WHERE w.listed > s.listed;

CREATE MATERIALIZED VIEW frequent_items AS
SELECT ss_item_sk AS item, count(*) AS n FROM store_lines GROUP BY 1 HAVING count(*) > 40;

CREATE MATERIALIZED VIEW spenders AS
SELECT ss_customer_sk AS customer, sum(ss_quantity * ss_sales_price) AS spent FROM store_lines GROUP BY 1;

CREATE MATERIALIZED VIEW best_customers AS
SELECT customer, spent FROM spenders WHERE spent > (SELECT max(spent) * 0.3 FROM spenders);

CREATE MATERIALIZED VIEW catalog_best AS
SELECT cs_bill_customer_sk AS customer, d_month_seq, sum(cs_quantity * cs_list_price) AS sales
FROM catalog_lines LEFT SEMI JOIN frequent_items ON cs_item_sk = item
    LEFT SEMI JOIN best_customers b ON cs_bill_customer_sk = b.customer
GROUP BY 1, 2;

CREATE MATERIALIZED VIEW web_best AS
SELECT ws_bill_customer_sk AS customer, d_month_seq, sum(ws_quantity * ws_list_price) AS sales
FROM web_lines LEFT SEMI JOIN frequent_items ON ws_item_sk = item
    LEFT SEMI JOIN best_customers b ON ws_bill_customer_sk = b.customer
GROUP BY 1, 2;

CREATE MATERIALIZED VIEW best_sales AS
SELECT c_last_name, c_first_name, d_month_seq, sum(sales) AS sales
FROM (SELECT * FROM catalog_best UNION ALL SELECT * FROM web_best) JOIN tpcds.customer ON customer = c_customer_sk
GROUP BY 1, 2, 3;

CREATE MATERIALIZED VIEW buyers AS
SELECT DISTINCT ss_customer_sk AS customer, d_date, 'store' AS channel FROM store_lines
UNION ALL SELECT DISTINCT cs_bill_customer_sk, d_date, 'catalog' FROM catalog_lines
UNION ALL SELECT DISTINCT ws_bill_customer_sk, d_date, 'web' FROM web_lines;

CREATE MATERIALIZED VIEW channels_used AS
SELECT channels, count(*) AS n
FROM (SELECT customer, count(DISTINCT channel) AS channels FROM buyers GROUP BY customer) GROUP BY channels;
