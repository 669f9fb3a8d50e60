// Converts rows of services into API responses for their provider and for other organisations.
import type { Service, ServiceInput, ServiceRelease } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import type { ServiceDeclaration, ServiceReleaseRow, ServiceRow } from './service-sql.ts';

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
const hasUnpublishedChanges = ({ draft, published }: ServiceRow) =>
  JSON.stringify(draft) !== JSON.stringify(published);

export function toServiceView(row: ServiceRow, organizationId: string): Service {
  const isOwn = row.organization_id === organizationId;
  const declaration = isOwn || row.published === null ? row.draft : row.published;
  return {
    serviceId: row.service_id,
    organizationId: row.organization_id,
    ...(row.provider_name === null ? {} : { providerName: row.provider_name }),
    ...({ methods: [], paymentTypes: [], events: [] } satisfies Partial<Service>),
    ...hideProviderAddress(isOwn, declaration),
    status: row.status,
    release: row.release,
    ...(isOwn ? { unpublishedChanges: hasUnpublishedChanges(row) } : {}),
    createdAt: isoTime(row.created_at.getTime()),
    updatedAt: isoTime(row.updated_at.getTime()),
  };
}

export function toReleaseView(
  serviceId: string,
  row: ServiceReleaseRow,
  isOwn: boolean,
): ServiceRelease {
  return {
    serviceId,
    release: row.release,
    publishedAt: isoTime(row.published_at.getTime()),
    ...hideProviderAddress(isOwn, row.declaration),
  };
}

/**
 * The audit omits logos and defaults, which make entries ten times as long; a release holds both.
 */
export function toServiceAuditEntry(row: ServiceRow): object {
  const { logo: _logo, defaults: _defaults, ...view } = toServiceView(row, row.organization_id);
  return view;
}
