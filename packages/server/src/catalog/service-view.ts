// Turns rows of services into what their provider sees, and what everybody else does.
import type { Service, ServiceInput, ServiceRelease } from '@switchyard/contract';
import { isoTime } from '../platform/index.ts';
import type { Declaration, ReleaseRow, ServiceRow } from './service-store.ts';

const members = [
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

/** What is kept of an input: its own members, with the defaults of those that have one. */
export function declarationOf(input: ServiceInput): Declaration {
  const filled = { methods: [], paymentTypes: [], events: [], ...input };
  const kept = members.filter((member) => filled[member] !== undefined);
  const declaration = Object.fromEntries(kept.map((member) => [member, filled[member]]));
  return declaration as Declaration;
}

/** The address of the provider's server is nobody's business but the provider's and ours. */
function shownTo(isOwn: boolean, declaration: Declaration): ServiceInput {
  if (isOwn) return declaration as ServiceInput;
  const { spiUrl: _spiUrl, ...shown } = declaration as ServiceInput;
  return shown;
}

/** jsonb keeps no order of members, so both sides are in its order. */
const isChanged = ({ draft, published }: ServiceRow) =>
  JSON.stringify(draft) !== JSON.stringify(published);

export function serviceView(row: ServiceRow, organizationId: string): Service {
  const isOwn = row.organization_id === organizationId;
  const declaration = isOwn || row.published === null ? row.draft : row.published;
  return {
    serviceId: row.service_id,
    organizationId: row.organization_id,
    ...(row.provider_name === null ? {} : { providerName: row.provider_name }),
    ...({ methods: [], paymentTypes: [], events: [] } satisfies Partial<Service>),
    ...shownTo(isOwn, declaration),
    status: row.status,
    release: row.release,
    ...(isOwn ? { unpublishedChanges: isChanged(row) } : {}),
    createdAt: isoTime(row.created_at.getTime()),
    updatedAt: isoTime(row.updated_at.getTime()),
  };
}

export function releaseView(serviceId: string, row: ReleaseRow, isOwn: boolean): ServiceRelease {
  return {
    serviceId,
    release: row.release,
    publishedAt: isoTime(row.published_at.getTime()),
    ...shownTo(isOwn, row.declaration),
  };
}

/** Pictures and defaults would make the audit ten times as long; a release tells of both. */
export function auditedService(row: ServiceRow): object {
  const { logo: _logo, defaults: _defaults, ...view } = serviceView(row, row.organization_id);
  return view;
}
