// Configures the largest organisation at every level, and asks what comes of it at single devices.
import type { Database } from '../../../packages/server/src/platform/index.ts';
import { createEstateCaller, type EstateCaller } from './estate-client.ts';
import type { EstateEnvironment } from './estate-environment.ts';
import { estateId } from './estate-plan.ts';
import { type EstateQuery, type EstateQueryTarget, expectInBody } from './estate-queries.ts';

const servicesCount = 4;
/** Of all devices so many have values of their own. */
const shareOfDevices = 0.25;
/** A level that has values of its own, and its table. */
const copied = [
  ['merchants', 'merchant_id', 1],
  ['stores', 'store_id', 1],
  ['logical_devices', 'logical_device_id', shareOfDevices],
] as const;

const parameterSchema = {
  type: 'object',
  properties: {
    receipt: {
      type: 'object',
      properties: {
        header: { type: 'string', maxLength: 100 },
        footer: { type: 'string', maxLength: 100 },
        copies: { type: 'integer', minimum: 0, maximum: 3 },
      },
      additionalProperties: false,
    },
    floorLimit: { type: 'integer', minimum: 0, maximum: 100_000 },
    tips: { type: 'boolean' },
    languages: { type: 'array', maxItems: 10, items: { type: 'string', maxLength: 5 } },
  },
  additionalProperties: false,
};
const defaults = { receipt: { header: '', footer: '', copies: 1 }, floorLimit: 0, tips: false };

/** What each level sets; a service shows all of them merged. */
const valuesOf = {
  organizations: { receipt: { header: 'Bank' }, languages: ['fr', 'en'] },
  merchants: { receipt: { footer: 'Thank you' }, floorLimit: 2500 },
  stores: { receipt: { copies: 2 } },
  'logical-devices': { tips: true },
} as const;

async function declare(caller: EstateCaller, number: number): Promise<string> {
  const base = '/service-catalog/v1/services';
  const made = await caller.call('POST', base, {
    name: `Bench service ${number}`,
    domain: 'Bench',
    parameterSchema,
    defaults,
  });
  const serviceId = String(made['serviceId']);
  await caller.call('POST', `${base}/${serviceId}/publish`);
  return serviceId;
}

/** What one merchant, one store and one device have is given to the others by SQL. */
async function copyRows(database: Database, organizationId: string, ids: readonly string[]) {
  await database.session(async ({ query }) => {
    for (const table of ['service_configurations', 'service_configuration_versions']) {
      const columns = await query(
        `SELECT column_name AS name FROM information_schema.columns
         WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position`,
        [table],
      );
      const names = columns.map(({ name }) => String(name));
      const values = names.map((name) => (name === 'entity_id' ? 'e.entity_id' : `m.${name}`));
      for (const [at, [entities, id, share]] of copied.entries()) {
        await query(
          `INSERT INTO ${table} (${names.join(', ')})
           SELECT ${values.join(', ')} FROM ${table} m,
             (SELECT ${id} AS entity_id, row_number() OVER (ORDER BY ${id}) - 1 AS number
              FROM ${entities} WHERE organization_id = $1) e
           WHERE m.organization_id = $1 AND m.entity_id = $2 AND e.entity_id <> $2
             AND e.number % $3 = 0
           ON CONFLICT DO NOTHING`,
          [organizationId, ids[at], Math.round(1 / share)],
        );
      }
      await query(`VACUUM (ANALYZE) ${table}`);
    }
  });
}

/** Makes the services, activates them for the organisation, and configures every level. */
export async function configureEstate(
  scene: EstateEnvironment,
  organization: EstateQueryTarget,
): Promise<string[]> {
  const { firstMs, server, writers, database } = scene;
  const caller = createEstateCaller(writers, server.authority, organization.token);
  const { organizationId } = organization;
  const serviceIds: string[] = [];
  for (let number = 1; number <= servicesCount; number += 1) {
    serviceIds.push(await declare(caller, number));
  }
  const catalogue = '/service-catalog/v1';
  const offer = { name: 'Bench package', serviceIds };
  const { packageId } = await caller.call('POST', `${catalogue}/packages`, offer);
  await caller.call('POST', `${catalogue}/subscriptions`, { packageId });
  const ids = {
    organizations: organizationId,
    merchants: estateId('merchant', firstMs, organization.number, 0),
    stores: estateId('store', firstMs, organization.number, 0),
    'logical-devices': estateId('logical', firstMs, organization.number, 0),
  };
  for (const serviceId of serviceIds) {
    const activation = { serviceId, level: 'Organization', entityId: organizationId };
    await caller.call('POST', `${catalogue}/activations`, activation);
    for (const level of Object.keys(ids) as (keyof typeof ids)[]) {
      const path = `/configuration/v1/${level}/${ids[level]}/services/${serviceId}`;
      await caller.call('POST', path, { values: valuesOf[level] });
    }
  }
  const { organizations: _own, ...below } = ids;
  await copyRows(database, organizationId, Object.values(below));
  return serviceIds;
}

/** The effective configuration of one service at a device of the organisation, as its owner asks. */
export function createConfigurationRequests(options: {
  authority: string;
  organization: EstateQueryTarget;
  serviceIds: readonly string[];
  firstMs: number;
  random: () => number;
}): () => EstateQuery {
  const { authority, organization, serviceIds, firstMs, random } = options;
  // The footer comes from the merchant, between the inherited and the overridden values.
  const footerFault = expectInBody('"footer":"Thank you"');
  return () => {
    const id = estateId(
      'logical',
      firstMs,
      organization.number,
      Math.floor(random() * organization.devices),
    );
    const serviceId = serviceIds[Math.floor(random() * serviceIds.length)];
    const text =
      `GET /configuration/v1/logical-devices/${id}/services/${serviceId} HTTP/1.1\r\n` +
      `Host: ${authority}\r\nAuthorization: Bearer ${organization.token}\r\n\r\n`;
    return { text, faultOf: footerFault };
  };
}
