-- The dimensions. A surrogate key is the key with the first day of its version; a version ends where the next begins.

CREATE MATERIALIZED VIEW dim_date AS
SELECT CAST(date_format(datevalue, 'yyyyMMdd') AS INT) AS sk_date_id, datevalue AS date_value,
    date_format(datevalue, 'MMMM d, y') AS date_desc, calendaryearid AS year_id, calendarqtrid AS quarter_id,
    calendarmonthid AS month_id, trunc(datevalue, 'MM') AS month, dayofweeknum AS day_of_week,
    if(month(datevalue) > 6, year(datevalue) + 1, year(datevalue)) AS fiscal_year_id, holidayflag AS holiday
FROM date_source;

CREATE MATERIALIZED VIEW dim_time AS
SELECT CAST(replace(timevalue, ':', '') AS INT) AS sk_time_id, timevalue AS time_value, hourid AS hour_id,
    minuteid AS minute_id, hourid BETWEEN 9 AND 15 AND NOT (hourid = 9 AND minuteid < 30) AS market_hours,
    officehoursflag AS office_hours
FROM time_source;

CREATE MATERIALIZED VIEW dim_broker AS
SELECT employee_id AS sk_broker_id, employee_id AS broker_id, manager_id, employee_first_name AS first_name,
    employee_last_name AS last_name, employee_mi AS middle_initial, employee_branch AS branch, employee_office AS office,
    employee_phone AS phone, true AS is_current, 1 AS batch_id, first_day AS effective_date, DATE'9999-12-31' AS end_date
FROM hr CROSS JOIN (SELECT min(datevalue) AS first_day FROM date_source) WHERE employee_job_code = 314;

CREATE MATERIALIZED VIEW finwire_companies AS
SELECT to_timestamp(substr(line, 1, 15), 'yyyyMMdd-HHmmss') AS pts, trim(substr(line, 19, 60)) AS name,
    CAST(substr(line, 79, 10) AS BIGINT) AS cik, trim(substr(line, 89, 4)) AS status_id,
    trim(substr(line, 93, 2)) AS industry_id, trim(substr(line, 95, 4)) AS sp_rating,
    to_date(nullif(trim(substr(line, 99, 8)), ''), 'yyyyMMdd') AS founding_date,
    trim(substr(line, 107, 80)) AS address_line1, trim(substr(line, 187, 80)) AS address_line2,
    trim(substr(line, 267, 12)) AS postal_code, trim(substr(line, 279, 25)) AS city,
    trim(substr(line, 304, 20)) AS state_prov, trim(substr(line, 324, 24)) AS country,
    trim(substr(line, 348, 46)) AS ceo, trim(substr(line, 394, 150)) AS description, batch_id
FROM finwire WHERE substr(line, 16, 3) = 'CMP';

CREATE MATERIALIZED VIEW finwire_securities AS
SELECT to_timestamp(substr(line, 1, 15), 'yyyyMMdd-HHmmss') AS pts, trim(substr(line, 19, 15)) AS symbol,
    trim(substr(line, 34, 6)) AS issue, trim(substr(line, 40, 4)) AS status_id, trim(substr(line, 44, 70)) AS name,
    trim(substr(line, 114, 6)) AS exchange_id, CAST(substr(line, 120, 13) AS BIGINT) AS shares_outstanding,
    to_date(substr(line, 133, 8), 'yyyyMMdd') AS first_trade, to_date(substr(line, 141, 8), 'yyyyMMdd') AS first_on_exchange,
    CAST(substr(line, 149, 12) AS DECIMAL(10, 2)) AS dividend, trim(substr(line, 161, 60)) AS company, batch_id
FROM finwire WHERE substr(line, 16, 3) = 'SEC';

CREATE MATERIALIZED VIEW finwire_financials AS
SELECT to_timestamp(substr(line, 1, 15), 'yyyyMMdd-HHmmss') AS pts, CAST(substr(line, 19, 4) AS INT) AS year,
    CAST(substr(line, 23, 1) AS INT) AS quarter, to_date(substr(line, 24, 8), 'yyyyMMdd') AS quarter_start,
    CAST(substr(line, 40, 17) AS DECIMAL(15, 2)) AS revenue, CAST(substr(line, 57, 17) AS DECIMAL(15, 2)) AS net_earnings,
    CAST(substr(line, 74, 12) AS DECIMAL(10, 2)) AS basic_eps, CAST(substr(line, 86, 12) AS DECIMAL(10, 2)) AS diluted_eps,
    CAST(substr(line, 98, 12) AS DECIMAL(10, 2)) AS margin, CAST(substr(line, 110, 17) AS DECIMAL(15, 2)) AS inventory,
    CAST(substr(line, 127, 17) AS DECIMAL(15, 2)) AS assets, CAST(substr(line, 144, 17) AS DECIMAL(15, 2)) AS liabilities,
    CAST(substr(line, 161, 13) AS BIGINT) AS out_basic, CAST(substr(line, 174, 13) AS BIGINT) AS out_diluted,
    trim(substr(line, 187, 60)) AS company, batch_id
FROM finwire WHERE substr(line, 16, 3) = 'FIN';

CREATE MATERIALIZED VIEW dim_company AS
SELECT cik * 100000 + unix_date(to_date(pts)) AS sk_company_id, cik AS company_id, st_name AS status, name,
    in_name AS industry, in_sc_id AS sector,
    if(sp_rating RLIKE '^(AAA|(AA|A|BBB|BB|B|CCC|CC)[+-]?|C|D)$', sp_rating, NULL) AS sp_rating,
    CASE WHEN sp_rating RLIKE '^(AAA|(AA|A|BBB)[+-]?)$' THEN false
        WHEN sp_rating RLIKE '^((BB|B|CCC|CC)[+-]?|C|D)$' THEN true END AS is_low_grade,
    sp_rating AS given_rating, ceo, address_line1, address_line2, postal_code, city, state_prov, country, description,
    founding_date, lead(pts) OVER later IS NULL AS is_current, batch_id, to_date(pts) AS effective_date,
    coalesce(to_date(lead(pts) OVER later), DATE'9999-12-31') AS end_date
FROM finwire_companies JOIN status_type ON status_id = st_id JOIN industry ON industry_id = in_id
WINDOW later AS (PARTITION BY cik ORDER BY pts);

CREATE MATERIALIZED VIEW dim_security AS
SELECT unix_date(effective_date) + 100000 * CAST(substr(symbol, 4) AS BIGINT) AS sk_security_id, symbol, issue,
    st_name AS status, name, exchange_id, sk_company_id, company_id, shares_outstanding, first_trade, first_on_exchange,
    dividend, end_date = DATE'9999-12-31' AS is_current, batch_id, effective_date, end_date
FROM (SELECT s.*, c.sk_company_id, c.company_id, greatest(s.begun, c.effective_date) AS effective_date,
          least(s.ended, c.end_date) AS end_date
      FROM (SELECT *, to_date(pts) AS begun,
                coalesce(to_date(lead(pts) OVER (PARTITION BY symbol ORDER BY pts)), DATE'9999-12-31') AS ended
            FROM finwire_securities) AS s
          JOIN (SELECT lpad(company_id, 10, '0') AS company, sk_company_id, company_id, effective_date, end_date
                FROM dim_company
                UNION ALL SELECT name, sk_company_id, company_id, effective_date, end_date FROM dim_company) AS c
              ON s.company = c.company AND s.begun < c.end_date AND c.effective_date < s.ended)
    JOIN status_type ON status_id = st_id;

CREATE MATERIALIZED VIEW financial AS
SELECT sk_company_id, company_id, year, quarter, quarter_start, revenue, net_earnings, basic_eps, diluted_eps, margin,
    inventory, assets, liabilities, out_basic, out_diluted
FROM finwire_financials AS f
    JOIN (SELECT lpad(company_id, 10, '0') AS company, sk_company_id, company_id, effective_date, end_date FROM dim_company
          UNION ALL SELECT name, sk_company_id, company_id, effective_date, end_date FROM dim_company) AS c
        ON f.company = c.company AND to_date(f.pts) >= c.effective_date AND to_date(f.pts) < c.end_date;

CREATE MATERIALIZED VIEW company_earnings AS
SELECT company_id, quarter_start AS valid_from,
    coalesce(lead(quarter_start) OVER (PARTITION BY company_id ORDER BY quarter_start), DATE'9999-12-31') AS valid_until,
    sum(basic_eps) OVER (PARTITION BY company_id ORDER BY quarter_start ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS eps
FROM financial;

CREATE MATERIALIZED VIEW prospect_nameplates AS
SELECT agency_id, upper(concat_ws('|', first_name, last_name, address_line1, postal_code)) AS person,
    last_name, first_name, city, state, income, net_worth, credit_rating, update_batch,
    nullif(concat_ws('+', if(net_worth > 1000000 OR income > 200000, 'HighValue', NULL),
        if(number_children > 3 OR number_credit_cards > 5, 'Expenses', NULL), if(age > 45, 'Boomer', NULL),
        if(income < 50000 OR credit_rating < 600 OR net_worth < 100000, 'MoneyAlert', NULL),
        if(number_cars > 3 OR number_credit_cards > 7, 'Spender', NULL),
        if(age < 25 AND net_worth > 1000000, 'Inherited', NULL)), '') AS marketing_nameplate
FROM prospect_source;

CREATE MATERIALIZED VIEW customer_changes AS
SELECT c_id, to_date(action_ts) AS effective_date, if(action_type = 'INACT', 'INAC', 'ACTV') AS status_id, c_tax_id,
    c_gndr, c_tier, c_dob, c_l_name, c_f_name, c_m_name, c_adline1, c_zipcode, c_city, c_state_prov, c_ctry, c_prim_email,
    concat('+', c_ctry_1, ' (', c_area_1, ') ', c_local_1) AS phone, c_lcl_tx_id, c_nat_tx_id, 1 AS batch_id
FROM customer_mgmt WHERE action_type IN ('NEW', 'UPDCUST', 'INACT')
UNION ALL
SELECT c_id, batch_date, c_st_id, c_tax_id, c_gndr, c_tier, c_dob, c_l_name, c_f_name, c_m_name, c_adline1, c_zipcode,
    c_city, c_state_prov, c_ctry, c_prim_email, concat('+', c_ctry_1, ' (', c_area_1, ') ', c_local_1), c_lcl_tx_id,
    c_nat_tx_id, batch_id
FROM customer JOIN batch_date USING (batch_id);

CREATE MATERIALIZED VIEW customer_versions AS
SELECT c_id, status_id, last_value(c_tax_id, true) OVER past AS tax_id, last_value(c_gndr, true) OVER past AS gender,
    last_value(c_tier, true) OVER past AS tier, last_value(c_dob, true) OVER past AS dob,
    last_value(c_l_name, true) OVER past AS last_name, last_value(c_f_name, true) OVER past AS first_name,
    last_value(c_m_name, true) OVER past AS middle_initial, last_value(c_adline1, true) OVER past AS address_line1,
    last_value(c_zipcode, true) OVER past AS postal_code, last_value(c_city, true) OVER past AS city,
    last_value(c_state_prov, true) OVER past AS state_prov, last_value(c_ctry, true) OVER past AS country,
    last_value(c_prim_email, true) OVER past AS email, last_value(phone, true) OVER past AS phone,
    last_value(c_lcl_tx_id, true) OVER past AS local_tax_id, last_value(c_nat_tx_id, true) OVER past AS national_tax_id,
    batch_id, effective_date,
    coalesce(lead(effective_date) OVER (PARTITION BY c_id ORDER BY effective_date), DATE'9999-12-31') AS end_date
FROM customer_changes
WINDOW past AS (PARTITION BY c_id ORDER BY effective_date ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW);

CREATE MATERIALIZED VIEW dim_customer AS
SELECT c_id * 100000 + unix_date(effective_date) AS sk_customer_id, c_id AS customer_id, tax_id, st_name AS status,
    v.last_name, v.first_name, middle_initial, if(upper(gender) IN ('M', 'F'), upper(gender), 'U') AS gender, tier, dob,
    v.address_line1, v.postal_code, v.city, state_prov, country, phone, email, n.tx_name AS national_tax_desc,
    n.tx_rate AS national_tax_rate, l.tx_name AS local_tax_desc, l.tx_rate AS local_tax_rate, p.agency_id, p.credit_rating,
    p.net_worth, p.marketing_nameplate, end_date = DATE'9999-12-31' AS is_current, batch_id, effective_date, end_date
FROM customer_versions AS v JOIN status_type ON status_id = st_id JOIN tax_rate AS n ON national_tax_id = n.tx_id
    JOIN tax_rate AS l ON local_tax_id = l.tx_id
    LEFT JOIN prospect_nameplates AS p ON end_date = DATE'9999-12-31'
        AND p.person = upper(concat_ws('|', v.first_name, v.last_name, v.address_line1, v.postal_code));

CREATE MATERIALIZED VIEW prospect AS
SELECT p.agency_id, p.person, p.last_name, p.first_name, p.city, p.state, p.income, p.net_worth, p.credit_rating,
    p.marketing_nameplate, date_format(b.batch_date, 'yyyyMMdd') AS sk_update_date_id, p.update_batch AS batch_id,
    c.customer_id IS NOT NULL AS is_customer
FROM prospect_nameplates AS p JOIN batch_date AS b ON p.update_batch = b.batch_id
    LEFT JOIN (SELECT customer_id, agency_id FROM dim_customer WHERE is_current AND status = 'Active') AS c
        ON p.agency_id = c.agency_id;

CREATE MATERIALIZED VIEW account_changes AS
SELECT ca_id, c_id, to_date(action_ts) AS effective_date, if(action_type = 'CLOSEACCT', 'INAC', 'ACTV') AS status_id,
    ca_b_id, ca_name, ca_tax_st, 1 AS batch_id
FROM customer_mgmt WHERE action_type IN ('ADDACCT', 'UPDACCT', 'CLOSEACCT')
UNION ALL
SELECT ca_id, ca_c_id, batch_date, ca_st_id, ca_b_id, ca_name, ca_tax_st, batch_id
FROM account JOIN batch_date USING (batch_id);

CREATE MATERIALIZED VIEW account_versions AS
SELECT ca_id, c_id, status_id, last_value(ca_b_id, true) OVER past AS broker_id,
    last_value(ca_name, true) OVER past AS description, last_value(ca_tax_st, true) OVER past AS tax_status, batch_id,
    effective_date,
    coalesce(lead(effective_date) OVER (PARTITION BY ca_id ORDER BY effective_date), DATE'9999-12-31') AS end_date
FROM account_changes
WINDOW past AS (PARTITION BY ca_id ORDER BY effective_date ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW);

-- A new version of a customer is a new version of each of its accounts.
CREATE MATERIALIZED VIEW dim_account AS
SELECT ca_id * 100000 + unix_date(greatest(a.effective_date, c.effective_date)) AS sk_account_id, ca_id AS account_id,
    sk_broker_id, sk_customer_id, customer_id, st_name AS status, description, tax_status,
    least(a.end_date, c.end_date) = DATE'9999-12-31' AS is_current, greatest(a.batch_id, c.batch_id) AS batch_id,
    greatest(a.effective_date, c.effective_date) AS effective_date, least(a.end_date, c.end_date) AS end_date
FROM account_versions AS a
    JOIN dim_customer AS c ON a.c_id = c.customer_id AND a.effective_date < c.end_date AND c.effective_date < a.end_date
    JOIN dim_broker AS b ON a.broker_id = b.broker_id JOIN status_type ON a.status_id = st_id;
