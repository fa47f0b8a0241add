-- Inventory: TPC-DS 21, 22, 37, 39, 72 and 82: how much of what lies where, and how that moves. 16 views.

CREATE MATERIALIZED VIEW stocked AS
SELECT inv_item_sk, inv_warehouse_sk, inv_quantity_on_hand AS n, d_date, d_moy, d_month_seq, d_week_seq
FROM tpcds.inventory JOIN tpcds.date_dim ON inv_date_sk = d_date_sk WHERE d_year = 2000;

CREATE MATERIALIZED VIEW items AS
SELECT i_item_sk, i_item_id, i_item_desc, i_product_name, i_brand, i_class, i_category, i_current_price, i_manufact_id
FROM tpcds.item WHERE i_current_price IS NOT NULL;

CREATE MATERIALIZED VIEW by_month AS
SELECT inv_warehouse_sk, inv_item_sk, d_moy, count(*) AS days, sum(n) AS n,
    sum(CAST(n AS DECIMAL(18, 0)) * n) AS squares
FROM stocked GROUP BY 1, 2, 3;

CREATE MATERIALIZED VIEW varying AS
SELECT w_warehouse_name, i_item_id, inv_warehouse_sk, inv_item_sk, d_moy, n / days AS mean,
    (squares - n * n / days) / greatest(days - 1, 1) AS variance
FROM by_month JOIN items ON inv_item_sk = i_item_sk JOIN tpcds.warehouse ON inv_warehouse_sk = w_warehouse_sk
WHERE days > 1;

CREATE MATERIALIZED VIEW varying_much AS
SELECT * FROM varying WHERE mean > 0 AND variance > mean * mean;

CREATE MATERIALIZED VIEW varying_twice AS
SELECT a.inv_warehouse_sk, a.inv_item_sk, a.d_moy, a.mean, a.variance, b.mean AS next_mean, b.variance AS next_variance
FROM varying_much a JOIN varying_much b
    ON a.inv_item_sk = b.inv_item_sk AND a.inv_warehouse_sk = b.inv_warehouse_sk AND a.d_moy + 1 = b.d_moy;

CREATE MATERIALIZED VIEW on_hand AS
SELECT i_product_name, i_brand, i_class, i_category, sum(n) AS n, sum(days) AS days
FROM by_month JOIN items ON inv_item_sk = i_item_sk GROUP BY 1, 2, 3, 4;

CREATE MATERIALIZED VIEW on_hand_rollup AS
SELECT i_product_name, i_brand, i_class, i_category, sum(n) / sum(days) AS mean
FROM on_hand GROUP BY ROLLUP (i_product_name, i_brand, i_class, i_category);

CREATE MATERIALIZED VIEW around_march AS
SELECT w_warehouse_name, i_item_id, sum(IF(d_date < DATE '2000-03-11', n, 0)) AS before,
    sum(IF(d_date >= DATE '2000-03-11', n, 0)) AS after
FROM stocked JOIN items ON inv_item_sk = i_item_sk JOIN tpcds.warehouse ON inv_warehouse_sk = w_warehouse_sk
WHERE d_date BETWEEN DATE '2000-02-10' AND DATE '2000-04-10' GROUP BY 1, 2;

CREATE MATERIALIZED VIEW changed_in_march AS
SELECT * FROM around_march WHERE before > 0 AND after / before BETWEEN 0.667 AND 1.5;

CREATE MATERIALIZED VIEW middling AS
SELECT DISTINCT i_item_sk, i_item_id, i_item_desc, i_current_price
FROM stocked JOIN items ON inv_item_sk = i_item_sk
WHERE n BETWEEN 100 AND 500 AND i_current_price BETWEEN 20 AND 50 AND d_moy BETWEEN 2 AND 4;

CREATE MATERIALIZED VIEW catalog_lines AS
SELECT cs_item_sk, cs_order_number, cs_quantity, cs_promo_sk, cs_ship_date_sk, d_date, d_week_seq, d_moy
FROM tpcds.catalog_sales JOIN tpcds.date_dim ON cs_sold_date_sk = d_date_sk WHERE d_year = 2000;

CREATE MATERIALIZED VIEW middling_by_catalog AS
SELECT i_item_id, i_item_desc, i_current_price, count(*) AS lines
FROM middling JOIN catalog_lines ON i_item_sk = cs_item_sk GROUP BY 1, 2, 3;

CREATE MATERIALIZED VIEW middling_in_stores AS
SELECT i_item_id, i_item_desc, i_current_price, count(*) AS lines
FROM middling JOIN tpcds.store_sales ON i_item_sk = ss_item_sk GROUP BY 1, 2, 3;

CREATE MATERIALIZED VIEW short AS
SELECT inv_item_sk, inv_warehouse_sk, c.d_week_seq, cs_promo_sk, count(*) AS lines
FROM catalog_lines c JOIN stocked s ON cs_item_sk = inv_item_sk AND c.d_week_seq = s.d_week_seq
WHERE n < cs_quantity GROUP BY 1, 2, 3, 4;

CREATE MATERIALIZED VIEW short_report AS
SELECT i_item_desc, w_warehouse_name, d_week_seq, sum(IF(cs_promo_sk IS NULL, lines, 0)) AS plain,
    sum(IF(cs_promo_sk IS NULL, 0, lines)) AS promoted, sum(lines) AS lines
FROM short JOIN items ON inv_item_sk = i_item_sk JOIN tpcds.warehouse ON inv_warehouse_sk = w_warehouse_sk
GROUP BY 1, 2, 3;
