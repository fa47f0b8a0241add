-- Messages about data that breaks a rule, and the audit.

CREATE MATERIALIZED VIEW alerts_customer AS
SELECT batch_id, 'DimCustomer' AS source, 'Invalid customer tier' AS text, concat('C_ID = ', customer_id) AS data
FROM dim_customer WHERE tier NOT IN (1, 2, 3) OR tier IS NULL
UNION ALL
SELECT v.batch_id, 'DimCustomer', 'DOB out of range', concat('C_ID = ', customer_id)
FROM dim_customer AS v JOIN batch_date AS b ON v.batch_id = b.batch_id
WHERE dob < add_months(batch_date, -1200) OR dob > batch_date;

CREATE MATERIALIZED VIEW alerts_trade AS
SELECT batch_id, 'DimTrade' AS source, 'Invalid trade commission' AS text, concat('T_ID = ', trade_id) AS data
FROM dim_trade WHERE commission > trade_price * quantity
UNION ALL
SELECT batch_id, 'DimTrade', 'Invalid trade fee', concat('T_ID = ', trade_id)
FROM dim_trade WHERE fee > trade_price * quantity;

CREATE MATERIALIZED VIEW alerts_company AS
SELECT batch_id, 'DimCompany' AS source, 'Invalid SPRating' AS text, concat('CO_ID = ', company_id, ', ', given_rating) AS data
FROM dim_company WHERE sp_rating IS NULL;

CREATE MATERIALIZED VIEW alerts_market PARTITIONED BY (month) AS
SELECT batch_id, 'FactMarketHistory' AS source, 'No earnings for company' AS text,
    concat('DM_S_SYMB = ', symbol, ', ', sk_date_id) AS data, month
FROM fact_market_history WHERE pe_ratio IS NULL;

CREATE MATERIALIZED VIEW alerts_account AS
SELECT DISTINCT a.batch_id, 'DimAccount' AS source, 'Account of an inactive customer' AS text,
    concat('CA_ID = ', account_id) AS data
FROM dim_account AS a JOIN dim_customer AS c ON a.sk_customer_id = c.sk_customer_id
WHERE a.is_current AND a.status = 'Active' AND c.status = 'Inactive';

CREATE MATERIALIZED VIEW di_messages AS
SELECT batch_id, source, text, count(*) AS messages, min(data) AS example
FROM (SELECT * FROM alerts_customer UNION ALL SELECT * FROM alerts_trade UNION ALL SELECT * FROM alerts_company
      UNION ALL SELECT * FROM alerts_account
      UNION ALL SELECT batch_id, source, text, data FROM alerts_market)
GROUP BY batch_id, source, text;

CREATE MATERIALIZED VIEW audit_counts AS
SELECT 'DimCustomer' AS source, batch_id, count(*) AS rows FROM dim_customer GROUP BY batch_id
UNION ALL SELECT 'DimAccount', batch_id, count(*) FROM dim_account GROUP BY batch_id
UNION ALL SELECT 'DimTrade', batch_id, count(*) FROM dim_trade GROUP BY batch_id
UNION ALL SELECT 'FactHoldings', batch_id, count(*) FROM fact_holdings GROUP BY batch_id
UNION ALL SELECT 'FactWatches', batch_id, count(*) FROM fact_watches GROUP BY batch_id
UNION ALL SELECT 'FactCashBalances', batch_id, count(*) FROM fact_cash_balances GROUP BY batch_id
UNION ALL SELECT 'FactMarketHistory', batch_id, count(*) FROM fact_market_history GROUP BY batch_id;

CREATE MATERIALIZED VIEW audit_versions AS
SELECT dimension, count(*) AS versions, count(DISTINCT id) AS ids, count_if(next < end_date) AS overlaps,
    count_if(next > end_date) AS gaps, count_if(end_date = DATE'9999-12-31') AS open
FROM (SELECT dimension, id, end_date, lead(effective_date) OVER (PARTITION BY dimension, id ORDER BY effective_date) AS next
      FROM (SELECT 'DimCustomer' AS dimension, customer_id AS id, effective_date, end_date FROM dim_customer
            UNION ALL SELECT 'DimAccount', account_id, effective_date, end_date FROM dim_account
            UNION ALL SELECT 'DimCompany', company_id, effective_date, end_date FROM dim_company))
GROUP BY dimension;

CREATE MATERIALIZED VIEW audit_trades AS
SELECT s.batch_id, count(*) AS arrived, count(d.trade_id) AS loaded, count_if(d.trade_id IS NULL) AS lost
FROM trade_states AS s LEFT JOIN dim_trade AS d ON s.t_id = d.trade_id GROUP BY s.batch_id;
