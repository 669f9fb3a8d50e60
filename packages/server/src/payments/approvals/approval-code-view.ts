// API view of an approval code, without the code itself.
import { type ApprovalCode, type ApprovalCodeStatus, defined } from '@switchyard/contract';
import type { CodeRow } from './approval-code-sql.ts';

function approvalCodeStatus(row: CodeRow, now: number): ApprovalCodeStatus {
  if (row.revokedAt !== null) return 'Revoked';
  if (row.oneTime && row.uses > 0) return 'Used';
  return row.validUntil !== null && row.validUntil.getTime() <= now ? 'Expired' : 'Active';
}

export function viewApprovalCode(row: CodeRow, now: number): ApprovalCode {
  const { approvalCodeId, name, oneTime, uses, createdBy } = row;
  return {
    approvalCodeId,
    name,
    oneTime,
    status: approvalCodeStatus(row, now),
    uses,
    createdBy,
    createdAt: row.createdAt.toISOString(),
    ...defined({
      merchantId: row.merchantId ?? undefined,
      storeId: row.storeId ?? undefined,
      maxAmount: row.maxAmount ?? undefined,
      currency: row.currency ?? undefined,
      validUntil: row.validUntil?.toISOString(),
      lastUsedAt: row.lastUsedAt?.toISOString(),
      revokedAt: row.revokedAt?.toISOString(),
    }),
  };
}
