// Converts activations into API responses and audit entries.
import { defined, type ServiceActivation } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import type { ActivationRecord } from './activation-sql.ts';

export function toActivationView(record: ActivationRecord): ServiceActivation {
  const { handshakeId: _handshakeId, coversAt: _coversAt, ...members } = record;
  const { secretsSealed: _secretsSealed, secretPointers, decidedAt, ...activation } = members;
  return {
    ...defined(activation),
    ...defined({
      secrets: secretPointers.length === 0 ? undefined : [...secretPointers],
      decidedAt: decidedAt === undefined ? undefined : isoTime(decidedAt),
    }),
    requestedAt: isoTime(record.requestedAt),
    createdAt: isoTime(record.createdAt),
    updatedAt: isoTime(record.updatedAt),
  };
}

/**
 * Parameters may contain accounts and keys of the provider, so the audit records only their names.
 */
export function toActivationAuditEntry(record: ActivationRecord): object {
  const { parameters, providerParameters, secrets, ...view } = toActivationView(record);
  const names = Object.keys({ ...parameters, ...providerParameters });
  return { ...view, parameterNames: names, ...defined({ sealed: secrets }) };
}
