-- Returns: TPC-DS 1, 30, 81, 49 and 83: who returns how much, and what is returned most. 24 views.

CREATE MATERIALIZED VIEW store_returned AS
SELECT sr_item_sk, sr_ticket_number, sr_customer_sk, sr_store_sk, sr_return_quantity, sr_return_amt, d_year, d_week_seq
FROM tpcds.store_returns JOIN tpcds.date_dim ON sr_returned_date_sk = d_date_sk WHERE d_year BETWEEN 2000 AND 2002;

CREATE MATERIALIZED VIEW catalog_returned AS
SELECT cr_item_sk, cr_order_number, cr_returning_customer_sk, ca_state, cr_return_quantity, cr_return_amount,
    cr_return_amt_inc_tax, d_year, d_week_seq
FROM tpcds.catalog_returns JOIN tpcds.date_dim ON cr_returned_date_sk = d_date_sk
    JOIN tpcds.customer_address ON cr_returning_addr_sk = ca_address_sk
WHERE d_year BETWEEN 2000 AND 2002;

CREATE MATERIALIZED VIEW web_returned AS
SELECT wr_item_sk, wr_order_number, wr_returning_customer_sk, ca_state, wr_return_quantity, wr_return_amt, d_year,
    d_week_seq
FROM tpcds.web_returns JOIN tpcds.date_dim ON wr_returned_date_sk = d_date_sk
    JOIN tpcds.customer_address ON wr_returning_addr_sk = ca_address_sk
WHERE d_year BETWEEN 2000 AND 2002;

CREATE MATERIALIZED VIEW customers AS
SELECT c_customer_sk, c_customer_id, c_salutation, c_first_name, c_last_name, c_birth_year, c_email_address, ca_state,
    ca_city
FROM tpcds.customer JOIN tpcds.customer_address ON c_current_addr_sk = ca_address_sk;

CREATE MATERIALIZED VIEW store_by_customer AS
SELECT sr_customer_sk AS customer_sk, sr_store_sk AS store_sk, sum(sr_return_amt) AS returned
FROM store_returned WHERE d_year = 2000 GROUP BY 1, 2;

CREATE MATERIALIZED VIEW store_average AS
SELECT store_sk, avg(returned) * 1.2 AS bound FROM store_by_customer GROUP BY 1;

CREATE MATERIALIZED VIEW store_returners AS
SELECT c_customer_id, store_sk, returned
FROM store_by_customer JOIN store_average USING (store_sk) JOIN customers ON customer_sk = c_customer_sk
WHERE returned > bound;

CREATE MATERIALIZED VIEW catalog_by_customer AS
SELECT cr_returning_customer_sk AS customer_sk, ca_state AS state, sum(cr_return_amt_inc_tax) AS returned
FROM catalog_returned WHERE d_year = 2000 GROUP BY 1, 2;

CREATE MATERIALIZED VIEW catalog_average AS
SELECT state, avg(returned) * 1.2 AS bound FROM catalog_by_customer GROUP BY 1;

CREATE MATERIALIZED VIEW catalog_returners AS
SELECT c_customer_id, c_salutation, c_first_name, c_last_name, ca_city, state, returned
FROM catalog_by_customer JOIN catalog_average USING (state) JOIN customers ON customer_sk = c_customer_sk
WHERE returned > bound;

CREATE MATERIALIZED VIEW web_by_customer AS
SELECT wr_returning_customer_sk AS customer_sk, ca_state AS state, sum(wr_return_amt) AS returned
FROM web_returned WHERE d_year = 2002 GROUP BY 1, 2;

CREATE MATERIALIZED VIEW web_average AS
SELECT state, avg(returned) * 1.2 AS bound FROM web_by_customer GROUP BY 1;

CREATE MATERIALIZED VIEW web_returners AS
SELECT c_customer_id, c_salutation, c_first_name, c_last_name, c_birth_year, c_email_address, state, returned
FROM web_by_customer JOIN web_average USING (state) JOIN customers ON customer_sk = c_customer_sk
WHERE returned > bound;

CREATE MATERIALIZED VIEW store_pairs AS
SELECT ss_item_sk AS item, ss_quantity AS sold, coalesce(sr_return_quantity, 0) AS returned, ss_net_paid AS paid,
    coalesce(sr_return_amt, 0) AS repaid
FROM tpcds.store_sales JOIN tpcds.date_dim ON ss_sold_date_sk = d_date_sk
    LEFT JOIN store_returned ON ss_ticket_number = sr_ticket_number AND ss_item_sk = sr_item_sk
WHERE tpcds.date_dim.d_year = 2001 AND ss_net_profit > 1 AND ss_net_paid > 0 AND ss_quantity > 0;

CREATE MATERIALIZED VIEW catalog_pairs AS
SELECT cs_item_sk AS item, cs_quantity AS sold, coalesce(cr_return_quantity, 0) AS returned, cs_net_paid AS paid,
    coalesce(cr_return_amount, 0) AS repaid
FROM tpcds.catalog_sales JOIN tpcds.date_dim ON cs_sold_date_sk = d_date_sk
    LEFT JOIN catalog_returned ON cs_order_number = cr_order_number AND cs_item_sk = cr_item_sk
WHERE tpcds.date_dim.d_year = 2001 AND cs_net_profit > 1 AND cs_net_paid > 0 AND cs_quantity > 0;

CREATE MATERIALIZED VIEW web_pairs AS
SELECT ws_item_sk AS item, ws_quantity AS sold, coalesce(wr_return_quantity, 0) AS returned, ws_net_paid AS paid,
    coalesce(wr_return_amt, 0) AS repaid
FROM tpcds.web_sales JOIN tpcds.date_dim ON ws_sold_date_sk = d_date_sk
    LEFT JOIN web_returned ON ws_order_number = wr_order_number AND ws_item_sk = wr_item_sk
WHERE tpcds.date_dim.d_year = 2001 AND ws_net_profit > 1 AND ws_net_paid > 0 AND ws_quantity > 0;

CREATE MATERIALIZED VIEW store_ratios AS
SELECT item, sum(returned) / sum(sold) AS return_ratio, sum(repaid) / sum(paid) AS currency_ratio
FROM store_pairs GROUP BY item;

CREATE MATERIALIZED VIEW catalog_ratios AS
SELECT item, sum(returned) / sum(sold) AS return_ratio, sum(repaid) / sum(paid) AS currency_ratio
FROM catalog_pairs GROUP BY item;

CREATE MATERIALIZED VIEW web_ratios AS
SELECT item, sum(returned) / sum(sold) AS return_ratio, sum(repaid) / sum(paid) AS currency_ratio
FROM web_pairs GROUP BY item;

CREATE MATERIALIZED VIEW most_returned AS
SELECT channel, item, return_ratio, currency_ratio
FROM (SELECT *, rank() OVER (PARTITION BY channel ORDER BY return_ratio) AS by_count,
          rank() OVER (PARTITION BY channel ORDER BY currency_ratio) AS by_amount
      FROM (SELECT 'store' AS channel, * FROM store_ratios UNION ALL SELECT 'catalog', * FROM catalog_ratios
            UNION ALL SELECT 'web', * FROM web_ratios))
WHERE by_count <= 10 OR by_amount <= 10;

CREATE MATERIALIZED VIEW store_items AS
SELECT i_item_id, d_week_seq, sum(sr_return_quantity) AS n
FROM store_returned JOIN tpcds.item ON sr_item_sk = i_item_sk GROUP BY 1, 2;

CREATE MATERIALIZED VIEW catalog_items AS
SELECT i_item_id, d_week_seq, sum(cr_return_quantity) AS n
FROM catalog_returned JOIN tpcds.item ON cr_item_sk = i_item_sk GROUP BY 1, 2;

CREATE MATERIALIZED VIEW web_items AS
SELECT i_item_id, d_week_seq, sum(wr_return_quantity) AS n
FROM web_returned JOIN tpcds.item ON wr_item_sk = i_item_sk GROUP BY 1, 2;

CREATE MATERIALIZED VIEW returned_everywhere AS
SELECT i_item_id, d_week_seq, s.n AS store, c.n AS catalog, w.n AS web,
    (s.n + c.n + w.n) / 3.0 AS average
FROM store_items s JOIN catalog_items c USING (i_item_id, d_week_seq) JOIN web_items w USING (i_item_id, d_week_seq);
