// What a run of QR payments needs: platform, provider, server and terminals, each a process.
import { rolePermissions } from '@switchyard/contract';
import { decodeJwt, importJWK, SignJWT } from 'jose';
import { createKeyRing } from '../../../packages/server/src/identity/realms-and-keys/signing-keys.ts';
import { systemIdGenerator } from '../../../packages/server/src/platform/index.ts';
import type { BenchOptions } from '../bench-options.ts';
import { startProcess } from '../bench-process.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { activateServices } from '../environment/activate-services.ts';
import {
  openPlatform,
  type Platform,
  type RunningServer,
  readServerCertificate,
} from '../environment/platform.ts';
import {
  type BenchOrganization,
  createClient,
  fetchClientToken,
  provisionOrganization,
  readPlatformKey,
  withIdentity,
} from '../environment/provision-in-database.ts';
import { createApiClient, type Target } from '../environment/send-single-request.ts';
import { freePort } from '../environment/server-process.ts';
import type { QrProviderFunctions } from './qr-provider.ts';

export const paymentType = 'benchpay';
export type QrTerminal = { deviceId: string; token: string };

export type QrEnvironment = {
  platform: Platform;
  server: RunningServer;
  providerPid: number;
  providerToken: string;
  baselineTarget: Target;
  terminals: QrTerminal[];
};

type KeyRow = { key_id: string; private_sealed: Buffer };

/** As the device listener would give them: of thousands of terminals without as many handshakes. */
async function tokensOf(
  platform: Platform,
  organization: BenchOrganization,
  tills: readonly string[],
): Promise<QrTerminal[]> {
  const { database } = platform;
  const { organizationId } = organization;
  const [row] = await database.query<KeyRow>(
    `SELECT key_id, private_sealed FROM realm_keys WHERE organization_id = $1
      AND algorithm = 'ES256'`,
    [organizationId],
  );
  if (row === undefined) throw new Error('the realm has no key');
  const sealed = { keyId: row.key_id, privateSealed: row.private_sealed, activeFrom: 0 };
  const ring = createKeyRing(readPlatformKey(platform));
  const { privateJwk } = ring.openKey(organizationId, { ...sealed, algorithm: 'ES256' });
  const key = await importJWK(privateJwk, 'ES256');
  const stores = await database.query<{ logical_device_id: string; store_id: string }>(
    'SELECT logical_device_id, store_id FROM logical_devices WHERE organization_id = $1',
    [organizationId],
  );
  const storeOf = new Map(stores.map((each) => [each.logical_device_id, each.store_id]));
  const terminals: QrTerminal[] = [];
  for (const [at, { merchantId, deviceIds }] of organization.merchants.entries()) {
    const claims = decodeJwt(tills[at] ?? '');
    for (const deviceId of deviceIds) {
      const entity = { entityId: merchantId, storeId: storeOf.get(deviceId), deviceId };
      const all = {
        ...claims,
        ...entity,
        jti: systemIdGenerator.uuidV4(),
        permissions: rolePermissions.Device,
      };
      const token = await new SignJWT(all)
        .setProtectedHeader({ alg: 'ES256', kid: row.key_id, typ: 'JWT' })
        .sign(key);
      terminals.push({ deviceId, token });
    }
  }
  return terminals;
}

export async function openQrEnvironment(
  closers: CloseStack,
  options: BenchOptions,
): Promise<QrEnvironment> {
  const platform = await openPlatform(closers, options);
  const organization = await provisionOrganization(platform, {
    acquirerPort: await freePort(),
    terminals: options.terminals,
  });
  const { realm, organizationId } = organization;
  const [acquirer, serviceProvider] = await withIdentity(
    platform,
    async (identity) =>
      [
        await createClient(identity, organization, 'AcquirerAdministrator'),
        await createClient(identity, organization, 'ServiceProvider'),
      ] as const,
  );
  const providerScript = new URL('./qr-provider.ts', import.meta.url);
  const provider = startProcess<QrProviderFunctions>(closers, providerScript);
  const port = await provider.call('openProvider', undefined);
  const server = await platform.startServer({ variables: { SWITCHYARD_SIMULATORS: 'off' } });
  const { target } = server;
  const providerToken = await fetchClientToken(target, realm, serviceProvider);
  const acquirerApi = createApiClient(target, await fetchClientToken(target, realm, acquirer));
  const providerApi = createApiClient(target, providerToken);
  const spiUrl = `http://127.0.0.1:${port}`;
  const service = { name: 'QR', domain: 'Payments', paymentTypes: [paymentType], spiUrl };
  await activateServices(acquirerApi, providerApi, organizationId, [service]);
  const merchantTokens: string[] = [];
  for (const { credentials } of organization.merchants) {
    merchantTokens.push(await fetchClientToken(target, realm, credentials));
  }
  const barePort = await provider.call('openBaseline', readServerCertificate(platform));
  return {
    platform,
    server,
    providerPid: provider.pid,
    providerToken,
    baselineTarget: { ...target, port: barePort },
    terminals: await tokensOf(platform, organization, merchantTokens),
  };
}
