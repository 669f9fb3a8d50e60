// Tokens of devices of the largest organisation, which ask for the configuration that is theirs.
import { randomBytes } from 'node:crypto';
import type { openIdentity } from '../environment/provision.ts';
import type { HttpsConnections } from '../sales/https-connections.ts';
import { sendRequest } from './estate-client.ts';
import { devicesPerMerchant, estateId } from './estate-plan.ts';
import { type EstateQuery, expectInBody } from './estate-queries.ts';

const merchantsCount = 10;

/** Where users of merchants sign in, and they themselves. */
export type MerchantUserLogins = {
  realm: string;
  clientId: string;
  users: { merchant: number; username: string; password: string }[];
};

/** A user of each of the first merchants of an organisation, before the server starts. */
export async function createDeviceOwners(
  identity: ReturnType<typeof openIdentity>,
  organization: {
    organizationId: string;
    realm: string;
    number: number;
    firstMs: number;
    devices: number;
  },
): Promise<MerchantUserLogins> {
  const { organizationId, realm, number, firstMs } = organization;
  const { clientId } = await identity.createPublicApplication({
    organizationId,
    userDomainId: realm,
    name: 'Devices',
    entityType: 'tenant',
    entityId: organizationId,
    roles: [],
    securityFlows: ['Password'],
  });
  const users: MerchantUserLogins['users'] = [];
  const merchants = Math.min(merchantsCount, Math.floor(organization.devices / devicesPerMerchant));
  for (let merchant = 0; merchant < merchants; merchant += 1) {
    const entityId = estateId('merchant', firstMs, number, merchant);
    const username = `keeper-${merchant}`;
    const password = randomBytes(18).toString('base64url');
    await identity.accounts.create({
      organizationId,
      userDomainId: realm,
      username,
      password,
      entityType: 'merchant',
      entityId,
      groups: [`${entityId}_merchant_manager`],
      email: `${username}@bench.example`,
      emailVerified: true,
      secondFactor: 'Off',
    });
    users.push({ merchant, username, password });
  }
  return { realm, clientId, users };
}

async function tokenFor(
  exchange: HttpsConnections,
  authority: string,
  request: { path: string; form: Readonly<Record<string, string>>; authorization?: string },
): Promise<string> {
  const form = new URLSearchParams(request.form).toString();
  const bearer =
    request.authorization === undefined ? '' : `Authorization: Bearer ${request.authorization}\r\n`;
  const { status, body } = await sendRequest(
    exchange,
    `POST ${request.path} HTTP/1.1\r\nHost: ${authority}\r\n${bearer}` +
      `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${form.length}\r\n\r\n${form}`,
  );
  if (status !== 200) throw new Error(`no token at ${request.path}: ${status} ${body}`);
  return String((JSON.parse(body) as Record<string, unknown>)['access_token']);
}

/** As the terminal simulation of the demo gives them. */
export async function fetchDeviceTokens(
  exchange: HttpsConnections,
  authority: string,
  { realm, clientId, users }: MerchantUserLogins,
  organization: { number: number; firstMs: number },
): Promise<string[]> {
  const tokens: string[] = [];
  for (const { merchant, username, password } of users) {
    const authorization = await tokenFor(exchange, authority, {
      path: `/oauth2/v1/${realm}/token`,
      form: { grant_type: 'password', client_id: clientId, username, password },
    });
    for (let at = 0; at < devicesPerMerchant; at += 1) {
      const deviceId = estateId(
        'logical',
        organization.firstMs,
        organization.number,
        merchant * devicesPerMerchant + at,
      );
      const token = await tokenFor(exchange, authority, {
        path: `/auth/realms/${realm}/custom-token`,
        form: { device_model: 'AXIUM_DX8000', device_id: deviceId, method: 'api' },
        authorization,
      });
      tokens.push(token);
    }
  }
  return tokens;
}

/** The configuration of all services that are active at a device, as the device asks for it. */
export function createDeviceRequests(
  authority: string,
  tokens: readonly string[],
  random: () => number,
): () => EstateQuery {
  const footerFault = expectInBody('"footer":"Thank you"');
  return () => {
    const token = tokens[Math.floor(random() * tokens.length)];
    const text =
      `GET /configuration/v1/device HTTP/1.1\r\n` +
      `Host: ${authority}\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    return { text, faultOf: footerFault };
  };
}
