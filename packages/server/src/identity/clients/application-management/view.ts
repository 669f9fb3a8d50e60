// Converts an application to the schema of the API, without the hash of its secret.
import { type Application as ApplicationView, defined } from '@switchyard/contract';
import { isoTime } from '../../../platform/index.ts';
import type { ApplicationWithLastUse } from '../application-record.ts';

export function applicationView(
  record: ApplicationWithLastUse,
  userDomainId: string,
): ApplicationView {
  const { description, storeId, accessTokenSeconds, accessTokenAlgorithm } = record;
  const { secretChangedAt, lastUsedAt } = record;
  return {
    clientId: record.clientId,
    userDomainId,
    organizationId: record.organizationId,
    name: record.name,
    ...defined({ description }),
    type: record.type,
    clientType: record.secretHash === undefined ? 'Public' : 'Confidential',
    securityFlows: [...record.securityFlows],
    redirectUris: [...record.redirectUris],
    webOrigins: [...record.webOrigins],
    services: [...record.services],
    roles: [...record.roles],
    entityId: record.entityId,
    ...defined({ storeId }),
    callbackError: record.callbackError,
    ...defined({ accessTokenSeconds, accessTokenAlgorithm }),
    accessTokenType: record.accessTokenType,
    status: record.status,
    ...defined({
      secretChangedAt: secretChangedAt === undefined ? undefined : isoTime(secretChangedAt),
      lastUsedAt: lastUsedAt === undefined ? undefined : isoTime(lastUsedAt),
    }),
    createdAt: isoTime(record.createdAt),
    updatedAt: isoTime(record.updatedAt),
  };
}
