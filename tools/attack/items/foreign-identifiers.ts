// Item 10: every route with the identifiers of another organisation, DELETE and new secrets included.
import type { Attack, Attempts } from '../attack.ts';
import { describeAnswer } from '../describe.ts';
import type { Production } from '../platforms.ts';

type Things = Readonly<Record<string, string>>;
type Operation = { readonly operationId: string; readonly security?: readonly unknown[] };
type Document = { readonly paths: Record<string, Record<string, Operation>> };
type Trial = { readonly method: string; readonly path: string; readonly name: string };

const base = '/provisioning/v2';
/** Public pages and resources, the authorization server, and the log of the requests of the caller itself. */
const isExcludedPath = (path: string) =>
  /^\/(?:oauth2|auth|portal|docs|errors|resources|logs|onboarding\/v1\/activations)/.test(path);

/** One thing of each kind that an organisation can create through the API without devices. */
async function createThings({ create, victim }: Production): Promise<Things> {
  const { token, realm: userDomainId, organizationId } = victim;
  const made = (path: string, body: object) => create(token, path, body);
  const merchant = { name: 'Shop', country: 'FR', mcc: '5411', timeZone: 'Europe/Paris' };
  const { merchantId } = await made(`${base}/merchants`, merchant);
  const { storeId } = await made(`${base}/stores`, { merchantId, name: 'Store' });
  const { logicalDeviceId } = await made(`${base}/logical-devices`, { storeId, name: 'Till' });
  const serialNumber = String(97_000_000 + (Date.now() % 1_000_000));
  const hardware = { serialNumber, make: 'AXIUM', model: 'DX8000', family: 'axium', merchantId };
  const { physicalDeviceId } = await made(`${base}/physical-devices`, hardware);
  const { pointOfSaleId } = await made(`${base}/points-of-sale`, { storeId, name: 'Till' });
  const link = { name: 'Host', host: '8.8.8.8', port: 8583, institutionId: '100001' };
  const { acquirerLinkId } = await made(`${base}/acquirer-links`, link);
  const { contractId } = await made(`${base}/merchants/${merchantId}/acquirer-contracts`, {
    acquirerLink: acquirerLinkId,
    acquirerMerchantId: '100000000000001',
    terminalIdRange: { from: 'CAFE0001', to: 'CAFE0099' },
    currencies: ['EUR'],
    captureModes: ['Immediate'],
    defaultCaptureMode: 'Immediate',
  });
  const domain = `user-domains/${userDomainId}`;
  const application = { name: 'Till', roles: ['Merchant'], entityId: merchantId };
  const { clientId } = await made(`/application-management/v1/${domain}/applications`, application);
  const person = {
    username: 'eve',
    email: 'eve@bank.example',
    entityId: organizationId,
    scope: organizationId,
  };
  const { userId } = await made(`/user-management/v2/${domain}/users`, person);
  const hook = { url: 'https://hooks.bank.example/', eventTypes: ['endpoint.test'] };
  const { endpointId } = await made('/webhooks/v1/endpoints', hook);
  const service = { name: 'Receipts', domain: 'Printing' };
  const { serviceId } = await made('/service-catalog/v1/services', service);
  return {
    organizationId,
    userDomainId,
    merchantId,
    storeId,
    logicalDeviceId,
    physicalDeviceId,
    pointOfSaleId,
    acquirerLinkId,
    contractId,
    clientId,
    userId,
    endpointId,
    serviceId,
    level: 'merchants',
    entityId: merchantId,
    number: '1',
    version: '1',
    sequence: '1',
  };
}

function trialsOf({ paths }: Document, things: Things): Trial[] {
  return Object.entries(paths).flatMap(([template, operations]) => {
    const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    if (isExcludedPath(template) || names.some((name) => things[name] === undefined)) return [];
    const path = template.replace(/\{(\w+)\}/g, (_whole, name) => things[name] ?? '');
    return Object.entries(operations)
      .filter(([, { security }]) => security === undefined || security.length > 0)
      .filter(([method]) => names.length > 0 || method === 'get')
      .map(([method, { operationId }]) => ({
        method: method.toUpperCase(),
        path,
        name: operationId,
      }));
  });
}

const isIdentifier = (text: string) => /^[0-9a-f-]{36}$/.test(text);

/** A list without an identifier is the caller's own; with one, nothing is there. */
function isRefused(status: number, path: string, things: Things): boolean {
  const isNamed = Object.values(things).some((id) => isIdentifier(id) && path.includes(id));
  return status >= 400 ? status < 500 : !isNamed;
}

async function tryEach(attempts: Attempts, production: Production, things: Things): Promise<void> {
  const { attacker, call, createUser, signIn, victim } = production;
  const administrator = await signIn(attacker, await createUser(attacker, 'org_admin'));
  const document: Document = (await call(undefined, 'GET', '/openapi.json')).body;
  const trials = trialsOf(document, things);
  const foreign = Object.values(things).filter(isIdentifier);
  const callers = [
    ['an application', attacker.token],
    ['an administrator', administrator],
    ['no caller', undefined],
  ] as const;
  for (const { method, path, name } of trials) {
    const own = `${path}?organizationId=${victim.organizationId}`;
    for (const [caller, token] of callers) {
      for (const url of [path, own]) {
        const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} };
        const headers = method === 'GET' ? {} : { 'if-match': '*' };
        const answer = await call(token, method, url, { ...body, headers });
        const leaked = foreign.find((id) => answer.text.includes(id) && !url.includes(id));
        attempts.record({
          what: `${caller}, ${method} ${url} (${name})${leaked === undefined ? '' : ` tells ${leaked}`}`,
          response: `${method}: ${describeAnswer(answer)}`.replace(
            /^GET: 200.*/,
            'GET: 200 own list',
          ),
          isHeld: isRefused(answer.status, url, things) && leaked === undefined,
        });
      }
    }
  }
}

export const foreignIdentifiers: Attack = {
  item: 10,
  name: 'every route with the identifiers of another organisation',
  async run(attempts, platforms) {
    const production = await platforms.production();
    const { call, victim } = production;
    const things = await createThings(production);
    await tryEach(attempts, production, things);
    const domain = `user-domains/${things['userDomainId']}`;
    const left = [
      `${base}/merchants/${things['merchantId']}`,
      `${base}/stores/${things['storeId']}`,
      `${base}/logical-devices/${things['logicalDeviceId']}`,
      `${base}/physical-devices/${things['physicalDeviceId']}`,
      `${base}/points-of-sale/${things['pointOfSaleId']}`,
      `${base}/acquirer-links/${things['acquirerLinkId']}`,
      `/application-management/v1/${domain}/applications/${things['clientId']}`,
      `/user-management/v2/${domain}/users/${things['userId']}`,
      `/webhooks/v1/endpoints/${things['endpointId']}`,
      `/service-catalog/v1/services/${things['serviceId']}`,
    ];
    for (const path of left) {
      const answer = await call(victim.token, 'GET', path);
      const response = `after the attack, the owner reads: ${answer.status}`;
      attempts.record({ what: path, response, isHeld: answer.status === 200 });
    }
  },
};
