-- Profit report: TPC-DS 5, 77 and 80, of three channels. 22 views.

CREATE MATERIALIZED VIEW store_lines AS
SELECT s_store_id, ss_store_sk, d_date, ss_item_sk, ss_ticket_number, ss_promo_sk, ss_ext_sales_price, ss_net_profit
FROM tpcds.store_sales JOIN tpcds.date_dim ON ss_sold_date_sk = d_date_sk JOIN tpcds.store ON ss_store_sk = s_store_sk;

CREATE MATERIALIZED VIEW store_returned AS
SELECT s_store_id, sr_store_sk, d_date, sr_item_sk, sr_ticket_number, sr_return_amt, sr_net_loss
FROM tpcds.store_returns JOIN tpcds.date_dim ON sr_returned_date_sk = d_date_sk
    JOIN tpcds.store ON sr_store_sk = s_store_sk;

CREATE MATERIALIZED VIEW catalog_lines AS
SELECT cp_catalog_page_id, cs_call_center_sk, d_date, cs_item_sk, cs_order_number, cs_promo_sk, cs_ext_sales_price,
    cs_net_profit
FROM tpcds.catalog_sales JOIN tpcds.date_dim ON cs_sold_date_sk = d_date_sk
    JOIN tpcds.catalog_page ON cs_catalog_page_sk = cp_catalog_page_sk;

CREATE MATERIALIZED VIEW catalog_returned AS
SELECT cp_catalog_page_id, cr_call_center_sk, d_date, cr_item_sk, cr_order_number, cr_return_amount, cr_net_loss
FROM tpcds.catalog_returns JOIN tpcds.date_dim ON cr_returned_date_sk = d_date_sk
    JOIN tpcds.catalog_page ON cr_catalog_page_sk = cp_catalog_page_sk;

CREATE MATERIALIZED VIEW web_lines AS
SELECT web_site_id, ws_web_page_sk, d_date, ws_item_sk, ws_order_number, ws_promo_sk, ws_ext_sales_price, ws_net_profit
FROM tpcds.web_sales JOIN tpcds.date_dim ON ws_sold_date_sk = d_date_sk
    JOIN tpcds.web_site ON ws_web_site_sk = web_site_sk;

CREATE MATERIALIZED VIEW web_returned AS
SELECT web_site_id, wr_web_page_sk, d_date, wr_item_sk, wr_order_number, wr_return_amt, wr_net_loss
FROM tpcds.web_returns JOIN tpcds.date_dim ON wr_returned_date_sk = d_date_sk
    JOIN tpcds.web_sales ON wr_item_sk = ws_item_sk AND wr_order_number = ws_order_number
    JOIN tpcds.web_site ON ws_web_site_sk = web_site_sk;

CREATE MATERIALIZED VIEW store_fortnight AS
SELECT id, sum(sales) AS sales, sum(returned) AS returned, sum(profit) AS profit
FROM (SELECT s_store_id AS id, d_date, ss_ext_sales_price AS sales, 0 AS returned, ss_net_profit AS profit
      FROM store_lines
      UNION ALL
      SELECT s_store_id, d_date, 0, sr_return_amt, -sr_net_loss FROM store_returned)
WHERE d_date BETWEEN DATE '2000-08-23' AND DATE '2000-09-06' GROUP BY id;

CREATE MATERIALIZED VIEW catalog_fortnight AS
SELECT id, sum(sales) AS sales, sum(returned) AS returned, sum(profit) AS profit
FROM (SELECT cp_catalog_page_id AS id, d_date, cs_ext_sales_price AS sales, 0 AS returned, cs_net_profit AS profit
      FROM catalog_lines
      UNION ALL
      SELECT cp_catalog_page_id, d_date, 0, cr_return_amount, -cr_net_loss FROM catalog_returned)
WHERE d_date BETWEEN DATE '2000-08-23' AND DATE '2000-09-06' GROUP BY id;

CREATE MATERIALIZED VIEW web_fortnight AS
SELECT id, sum(sales) AS sales, sum(returned) AS returned, sum(profit) AS profit
FROM (SELECT web_site_id AS id, d_date, ws_ext_sales_price AS sales, 0 AS returned, ws_net_profit AS profit
      FROM web_lines
      UNION ALL
      SELECT web_site_id, d_date, 0, wr_return_amt, -wr_net_loss FROM web_returned)
WHERE d_date BETWEEN DATE '2000-08-23' AND DATE '2000-09-06' GROUP BY id;

CREATE MATERIALIZED VIEW fortnight_report AS
SELECT channel, id, sum(sales) AS sales, sum(returned) AS returned, sum(profit) AS profit
FROM (SELECT 'store' AS channel, * FROM store_fortnight UNION ALL SELECT 'catalog', * FROM catalog_fortnight
      UNION ALL SELECT 'web', * FROM web_fortnight)
GROUP BY ROLLUP (channel, id);

CREATE MATERIALIZED VIEW store_sold AS
SELECT ss_store_sk AS id, month(d_date) AS month, sum(ss_ext_sales_price) AS sales, sum(ss_net_profit) AS profit
FROM store_lines WHERE year(d_date) = 2000 GROUP BY 1, 2;

CREATE MATERIALIZED VIEW store_lost AS
SELECT sr_store_sk AS id, month(d_date) AS month, sum(sr_return_amt) AS returned, sum(sr_net_loss) AS loss
FROM store_returned WHERE year(d_date) = 2000 GROUP BY 1, 2;

CREATE MATERIALIZED VIEW catalog_sold AS
SELECT cs_call_center_sk AS id, month(d_date) AS month, sum(cs_ext_sales_price) AS sales, sum(cs_net_profit) AS profit
FROM catalog_lines WHERE year(d_date) = 2000 GROUP BY 1, 2;

CREATE MATERIALIZED VIEW catalog_lost AS
SELECT cr_call_center_sk AS id, month(d_date) AS month, sum(cr_return_amount) AS returned, sum(cr_net_loss) AS loss
FROM catalog_returned WHERE year(d_date) = 2000 GROUP BY 1, 2;

CREATE MATERIALIZED VIEW web_sold AS
SELECT ws_web_page_sk AS id, month(d_date) AS month, sum(ws_ext_sales_price) AS sales, sum(ws_net_profit) AS profit
FROM web_lines WHERE year(d_date) = 2000 GROUP BY 1, 2;

CREATE MATERIALIZED VIEW web_lost AS
SELECT wr_web_page_sk AS id, month(d_date) AS month, sum(wr_return_amt) AS returned, sum(wr_net_loss) AS loss
FROM web_returned WHERE year(d_date) = 2000 GROUP BY 1, 2;

CREATE MATERIALIZED VIEW month_report AS
SELECT channel, id, month, sum(sales) AS sales, sum(returned) AS returned, sum(profit) AS profit
FROM (SELECT 'store' AS channel, s.id, s.month, sales, coalesce(returned, 0) AS returned,
          profit - coalesce(loss, 0) AS profit
      FROM store_sold s LEFT JOIN store_lost l ON s.id = l.id AND s.month = l.month
      UNION ALL
      SELECT 'catalog', s.id, s.month, sales, coalesce(returned, 0), profit - coalesce(loss, 0)
      FROM catalog_sold s LEFT JOIN catalog_lost l ON s.id = l.id AND s.month = l.month
      UNION ALL
      SELECT 'web', s.id, s.month, sales, coalesce(returned, 0), profit - coalesce(loss, 0)
      FROM web_sold s LEFT JOIN web_lost l ON s.id = l.id AND s.month = l.month)
GROUP BY ROLLUP (channel, id, month);

CREATE MATERIALIZED VIEW promoted_items AS
SELECT i_item_sk, i_category, p_promo_sk FROM tpcds.item CROSS JOIN tpcds.promotion
WHERE i_current_price > 50 AND p_channel_tv = 'N' AND p_promo_sk % 10 = 1;

CREATE MATERIALIZED VIEW store_promoted AS
SELECT s.s_store_id AS id, i_category, sum(ss_ext_sales_price) AS sales, sum(coalesce(sr_return_amt, 0)) AS returned,
    sum(ss_net_profit - coalesce(sr_net_loss, 0)) AS profit
FROM store_lines s JOIN promoted_items ON ss_item_sk = i_item_sk AND ss_promo_sk = p_promo_sk
    LEFT JOIN store_returned r ON ss_item_sk = sr_item_sk AND ss_ticket_number = sr_ticket_number
WHERE year(s.d_date) = 2000 GROUP BY 1, 2;

CREATE MATERIALIZED VIEW catalog_promoted AS
SELECT s.cp_catalog_page_id AS id, i_category, sum(cs_ext_sales_price) AS sales,
    sum(coalesce(cr_return_amount, 0)) AS returned, sum(cs_net_profit - coalesce(cr_net_loss, 0)) AS profit
FROM catalog_lines s JOIN promoted_items ON cs_item_sk = i_item_sk AND cs_promo_sk = p_promo_sk
    LEFT JOIN catalog_returned r ON cs_item_sk = cr_item_sk AND cs_order_number = cr_order_number
WHERE year(s.d_date) = 2000 GROUP BY 1, 2;

CREATE MATERIALIZED VIEW web_promoted AS
SELECT s.web_site_id AS id, i_category, sum(ws_ext_sales_price) AS sales, sum(coalesce(wr_return_amt, 0)) AS returned,
    sum(ws_net_profit - coalesce(wr_net_loss, 0)) AS profit
FROM web_lines s JOIN promoted_items ON ws_item_sk = i_item_sk AND ws_promo_sk = p_promo_sk
    LEFT JOIN web_returned r ON ws_item_sk = wr_item_sk AND ws_order_number = wr_order_number
WHERE year(s.d_date) = 2000 GROUP BY 1, 2;

CREATE MATERIALIZED VIEW promoted_report AS
SELECT channel, id, i_category, sum(sales) AS sales, sum(returned) AS returned, sum(profit) AS profit
FROM (SELECT 'store' AS channel, * FROM store_promoted UNION ALL SELECT 'catalog', * FROM catalog_promoted
      UNION ALL SELECT 'web', * FROM web_promoted)
GROUP BY ROLLUP (channel, id, i_category);
