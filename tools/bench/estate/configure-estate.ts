// Configures the largest organisation at every level, and asks what comes of it at single devices.
import type { Database } from '../../../packages/server/src/platform/index.ts';
import { activateServices } from '../environment/activate-services.ts';
import { copyStatement } from '../environment/copy-rows.ts';
import { createApiClient, fetchToken, tokenPath } from '../environment/send-single-request.ts';
import type { EstateEnvironment } from './estate-environment.ts';
import { devicesPerMerchant, estateId } from './estate-plan.ts';
import type { EstateTarget } from './estate-requests.ts';

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

/** The values of one merchant, one store and one device are copied to the others by SQL. */
async function copyRows(database: Database, organizationId: string, ids: readonly string[]) {
  await database.session(async ({ query }) => {
    for (const table of ['service_configurations', 'service_configuration_versions']) {
      for (const [at, [entities, id, share]] of copied.entries()) {
        const from = `${table} m,
             (SELECT ${id} AS entity_id, row_number() OVER (ORDER BY ${id}) - 1 AS number
              FROM ${entities} WHERE organization_id = $1) e
           WHERE m.organization_id = $1 AND m.entity_id = $2 AND e.entity_id <> $2
             AND e.number % $3 = 0
           ON CONFLICT DO NOTHING`;
        const statement = await copyStatement(query, table, { entity_id: 'e.entity_id' }, from);
        await query(statement, [organizationId, ids[at], Math.round(1 / share)]);
      }
      await query(`VACUUM (ANALYZE) ${table}`);
    }
  });
}

/** Makes the services, activates them for the organisation, and configures every level. */
export async function configureEstate(
  environment: EstateEnvironment,
  organization: EstateTarget,
): Promise<string[]> {
  const { firstMs, server, platform } = environment;
  const api = createApiClient(server.target, organization.token);
  const { organizationId } = organization;
  const services = Array.from({ length: servicesCount }, (_, at) => ({
    name: `Bench service ${at + 1}`,
    domain: 'Bench',
    parameterSchema,
    defaults,
  }));
  const serviceIds = await activateServices(api, api, organizationId, services);
  const ids = {
    organizations: organizationId,
    merchants: estateId('merchant', firstMs, organization.number, 0),
    stores: estateId('store', firstMs, organization.number, 0),
    'logical-devices': estateId('logical', firstMs, organization.number, 0),
  };
  for (const serviceId of serviceIds) {
    for (const level of Object.keys(ids) as (keyof typeof ids)[]) {
      const path = `/configuration/v1/${level}/${ids[level]}/services/${serviceId}`;
      await api.call('POST', path, { values: valuesOf[level] });
    }
  }
  const { organizations: _own, ...below } = ids;
  await copyRows(platform.database, organizationId, Object.values(below));
  return serviceIds;
}

/** Tokens of devices of the first merchants, as the terminal simulation of the demo requests them. */
export async function fetchDeviceTokens(
  { server, firstMs, merchantUsers }: EstateEnvironment,
  { realm, number }: EstateTarget,
): Promise<string[]> {
  const { clientId, users } = merchantUsers;
  const tokens: string[] = [];
  for (const { merchant, username, password } of users) {
    const form = { grant_type: 'password', client_id: clientId, username, password };
    const user = await fetchToken(server.target, tokenPath(realm), form);
    for (let at = 0; at < devicesPerMerchant; at += 1) {
      const device = merchant * devicesPerMerchant + at;
      const deviceId = estateId('logical', firstMs, number, device);
      const deviceForm = { device_model: 'AXIUM_DX8000', device_id: deviceId, method: 'api' };
      const path = `/auth/realms/${realm}/custom-token`;
      tokens.push(
        (await fetchToken(server.target, path, deviceForm, user.accessToken)).accessToken,
      );
    }
  }
  return tokens;
}
