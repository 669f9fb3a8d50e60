// Converts services into API responses for their provider and for other organisations.
import {
  defined,
  type Service,
  type ServiceInput,
  type ServiceRelease,
} from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import type { ServiceDeclaration, ServiceRecord, ServiceReleaseRecord } from './service-sql.ts';

const storedMembers = [
  'name',
  'description',
  'domain',
  'methods',
  'paymentTypes',
  'spiUrl',
  'events',
  'activationParameters',
  'parameterSchema',
  'defaults',
  'logo',
] as const;

/** Selects the members of an input to store, and fills in empty lists. */
export function toStoredDeclaration(input: ServiceInput): ServiceDeclaration {
  const filled = { methods: [], paymentTypes: [], events: [], ...input };
  const presentMembers = storedMembers.filter((member) => filled[member] !== undefined);
  const declaration = Object.fromEntries(presentMembers.map((member) => [member, filled[member]]));
  return declaration as ServiceDeclaration;
}

/** Only the provider and the platform see the address of the provider's server. */
function hideProviderAddress(isOwn: boolean, declaration: ServiceDeclaration): ServiceInput {
  if (isOwn) return declaration as ServiceInput;
  const { spiUrl: _spiUrl, ...publicDeclaration } = declaration as ServiceInput;
  return publicDeclaration;
}

/** PostgreSQL orders the members of jsonb values, so the texts of both are comparable. */
const hasUnpublishedChanges = ({ draft, published }: ServiceRecord) =>
  JSON.stringify(draft) !== JSON.stringify(published);

export function toServiceView(row: ServiceRecord, organizationId: string): Service {
  const isOwn = row.organizationId === organizationId;
  const declaration = isOwn || row.published === undefined ? row.draft : row.published;
  return {
    serviceId: row.serviceId,
    organizationId: row.organizationId,
    ...defined({ providerName: row.providerName }),
    ...({ methods: [], paymentTypes: [], events: [] } satisfies Partial<Service>),
    ...hideProviderAddress(isOwn, declaration),
    status: row.status,
    release: row.release,
    ...defined({ unpublishedChanges: isOwn ? hasUnpublishedChanges(row) : undefined }),
    createdAt: isoTime(row.createdAt),
    updatedAt: isoTime(row.updatedAt),
  };
}

export function toReleaseView(
  serviceId: string,
  row: ServiceReleaseRecord,
  isOwn: boolean,
): ServiceRelease {
  return {
    serviceId,
    release: row.release,
    publishedAt: isoTime(row.publishedAt),
    ...hideProviderAddress(isOwn, row.declaration),
  };
}

/**
 * The audit omits logos and defaults, which make entries ten times as long; a release holds both.
 */
export function toServiceAuditEntry(row: ServiceRecord): object {
  const { logo: _logo, defaults: _defaults, ...view } = toServiceView(row, row.organizationId);
  return view;
}
