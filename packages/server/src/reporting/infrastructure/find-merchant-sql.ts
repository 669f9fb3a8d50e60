// SQL to find the merchant of a store or device.
import { keyCondition, organizationFilter, uuidKeySql } from './index-keys-sql.ts';

/** Finds the merchant of a store or device from its payments. */
export const findMerchantSql = (column: 'store_id' | 'device_id') =>
  `SELECT merchant_id AS "merchantId" FROM report_payments
    WHERE ${keyCondition(uuidKeySql, column, '$2::uuid')} AND ${organizationFilter} AND ${column} = $2
    ORDER BY created_at DESC LIMIT 1`;
