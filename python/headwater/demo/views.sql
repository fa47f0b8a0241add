-- The derived tables of the demo: fourteen views, six levels deep, over the TPC-H tables.
-- Sources: orders (by o_month), lineitem (by l_month, the month of its order), and the unpartitioned
-- customer, nation, region, part, partsupp and supplier.

-- Orders that count: all but those still being put together.
CREATE MATERIALIZED VIEW orders_clean PARTITIONED BY (month) AS
SELECT o_orderkey AS order_key, o_custkey AS customer_key, o_orderdate AS ordered_on, o_month AS month
FROM orders
WHERE o_orderstatus <> 'P';

-- Line items with what the customer paid for them.
CREATE MATERIALIZED VIEW lineitem_priced PARTITIONED BY (month) AS
SELECT l_orderkey AS order_key, l_partkey AS part_key, l_suppkey AS supplier_key, l_quantity AS quantity,
       CAST(l_extendedprice * (1 - l_discount) AS DECIMAL(18, 4)) AS revenue, l_month AS month
FROM lineitem;

-- Where each customer lives and what it trades in.
CREATE MATERIALIZED VIEW customer_geo AS
SELECT c_custkey AS customer_key, c_mktsegment AS segment, n_name AS nation, r_name AS region
FROM customer
JOIN nation ON n_nationkey = c_nationkey
JOIN region ON r_regionkey = n_regionkey;

-- What one piece of a part costs from each of its suppliers.
CREATE MATERIALIZED VIEW part_costs AS
SELECT ps_partkey AS part_key, ps_suppkey AS supplier_key, p_brand AS brand, s_name AS supplier,
       ps_supplycost AS unit_cost
FROM partsupp
JOIN part ON p_partkey = ps_partkey
JOIN supplier ON s_suppkey = ps_suppkey;

-- Each order's revenue, with who bought (first meeting of orders and line items).
CREATE MATERIALIZED VIEW order_revenue PARTITIONED BY (month) AS
SELECT o.order_key, o.customer_key, c.segment, c.nation, c.region,
       CAST(sum(l.revenue) AS DECIMAL(20, 4)) AS revenue, o.month
FROM orders_clean o
JOIN lineitem_priced l ON l.order_key = o.order_key AND l.month = o.month
JOIN customer_geo c ON c.customer_key = o.customer_key
GROUP BY o.order_key, o.customer_key, c.segment, c.nation, c.region, o.month;

-- What the goods of each order cost.
CREATE MATERIALIZED VIEW order_costs PARTITIONED BY (month) AS
SELECT l.order_key, CAST(sum(l.quantity * p.unit_cost) AS DECIMAL(20, 4)) AS cost, l.month
FROM lineitem_priced l
JOIN part_costs p ON p.part_key = l.part_key AND p.supplier_key = l.supplier_key
GROUP BY l.order_key, l.month;

-- What each order earned (the two sides of lineitem_priced meet again).
CREATE MATERIALIZED VIEW order_margin PARTITIONED BY (month) AS
SELECT r.order_key, r.customer_key, r.nation, r.region, r.revenue, r.revenue - c.cost AS margin, r.month
FROM order_revenue r
JOIN order_costs c ON c.order_key = r.order_key AND c.month = r.month;

-- Revenue of each month by nation and market segment.
CREATE MATERIALIZED VIEW monthly_revenue PARTITIONED BY (month) AS
SELECT region, nation, segment, count(*) AS orders, CAST(sum(revenue) AS DECIMAL(24, 4)) AS revenue, month
FROM order_revenue
GROUP BY region, nation, segment, month;

-- Margin of each month by nation.
CREATE MATERIALIZED VIEW monthly_margin PARTITIONED BY (month) AS
SELECT region, nation, CAST(sum(margin) AS DECIMAL(24, 4)) AS margin, month
FROM order_margin
GROUP BY region, nation, month;

-- What each customer bought and earned us in each month.
CREATE MATERIALIZED VIEW customer_months PARTITIONED BY (month) AS
SELECT customer_key, nation, count(*) AS orders, CAST(sum(revenue) AS DECIMAL(24, 4)) AS revenue,
       CAST(sum(margin) AS DECIMAL(24, 4)) AS margin, month
FROM order_margin
GROUP BY customer_key, nation, month;

-- Revenue of each quarter: a quarter view over the month view.
CREATE MATERIALIZED VIEW quarterly_revenue PARTITIONED BY (quarter) AS
SELECT region, nation, segment, sum(orders) AS orders, CAST(sum(revenue) AS DECIMAL(26, 4)) AS revenue,
       trunc(month, 'QUARTER') AS quarter
FROM monthly_revenue
GROUP BY region, nation, segment, trunc(month, 'QUARTER');

-- The customers that brought the most in each quarter; equals share a rank.
CREATE MATERIALIZED VIEW best_customers PARTITIONED BY (quarter) AS
SELECT customer_key, nation, revenue, margin, place, quarter
FROM (
  SELECT customer_key, nation, revenue, margin, quarter,
         rank() OVER (PARTITION BY quarter ORDER BY revenue DESC) AS place
  FROM (
    SELECT customer_key, nation, sum(revenue) AS revenue, sum(margin) AS margin,
           trunc(month, 'QUARTER') AS quarter
    FROM customer_months
    GROUP BY customer_key, nation, trunc(month, 'QUARTER')
  )
)
WHERE place <= 10;

-- Revenue beside margin for each quarter and nation: quarters of one view meet months of another.
CREATE MATERIALIZED VIEW quarterly_report PARTITIONED BY (quarter) AS
SELECT r.region, r.nation, r.orders, r.revenue, m.margin, r.quarter
FROM (
  SELECT region, nation, sum(orders) AS orders, CAST(sum(revenue) AS DECIMAL(28, 4)) AS revenue, quarter
  FROM quarterly_revenue
  GROUP BY region, nation, quarter
) r
JOIN (
  SELECT nation, CAST(sum(margin) AS DECIMAL(28, 4)) AS margin, trunc(month, 'QUARTER') AS quarter
  FROM monthly_margin
  GROUP BY nation, trunc(month, 'QUARTER')
) m ON m.nation = r.nation AND m.quarter = r.quarter;

-- The year by region: the last view, which every change reaches along several ways.
CREATE MATERIALIZED VIEW yearly_report PARTITIONED BY (year) AS
SELECT region, sum(orders) AS orders, CAST(sum(revenue) AS DECIMAL(30, 4)) AS revenue,
       CAST(sum(margin) AS DECIMAL(30, 4)) AS margin, trunc(quarter, 'YEAR') AS year
FROM quarterly_report
GROUP BY region, trunc(quarter, 'YEAR');
