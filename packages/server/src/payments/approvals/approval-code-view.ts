// API view of an approval code, without the code itself.
import type { ApprovalCode, ApprovalCodeStatus } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import type { CodeRow } from './approval-code-sql.ts';

const timeOf = (at: Date) => isoTime(at.getTime());

function approvalCodeStatus(row: CodeRow, now: number): ApprovalCodeStatus {
  if (row.revoked_at !== null) return 'Revoked';
  if (row.one_time && row.uses > 0) return 'Used';
  return row.valid_until !== null && row.valid_until.getTime() <= now ? 'Expired' : 'Active';
}

export function viewApprovalCode(row: CodeRow, now: number): ApprovalCode {
  return {
    approvalCodeId: row.approval_code_id,
    name: row.name,
    ...(row.merchant_id === null ? {} : { merchantId: row.merchant_id }),
    ...(row.store_id === null ? {} : { storeId: row.store_id }),
    oneTime: row.one_time,
    ...(row.max_amount === null ? {} : { maxAmount: Number(row.max_amount) }),
    ...(row.currency === null ? {} : { currency: row.currency }),
    ...(row.valid_until === null ? {} : { validUntil: timeOf(row.valid_until) }),
    status: approvalCodeStatus(row, now),
    uses: row.uses,
    ...(row.last_used_at === null ? {} : { lastUsedAt: timeOf(row.last_used_at) }),
    createdBy: row.created_by,
    createdAt: timeOf(row.created_at),
    ...(row.revoked_at === null ? {} : { revokedAt: timeOf(row.revoked_at) }),
  };
}
