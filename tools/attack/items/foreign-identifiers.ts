// Item 10: routes with the identifiers of another organisation, DELETE and new secrets included.
import { randomUUID } from 'node:crypto';
import { defined } from '@switchyard/contract';
import { createCertificateRequest } from '../../../packages/server/test/support/provisioning/test-devices.ts';
import type { Attack, Attempts } from '../attack.ts';
import { describeResponse, isClientError } from '../describe-response.ts';
import type { Production } from '../platforms.ts';
import { newSerial } from '../requests.ts';

/** By the name of the path parameter. */
type ResourceIds = Readonly<Record<string, string>>;
type Content = Readonly<Record<string, { readonly example?: unknown }>>;
type Operation = {
  readonly operationId: string;
  readonly security?: readonly unknown[];
  readonly requestBody?: { readonly content: Content };
};
type Document = { readonly paths: Record<string, Record<string, Operation>> };
type Bodies = Readonly<Record<string, unknown>>;
type ForeignRequest = {
  readonly method: string;
  readonly path: string;
  readonly name: string;
  readonly body?: unknown;
};

const base = '/provisioning/v2';
const catalog = '/service-catalog/v1';
/** Public pages and resources, the authorization server, and the log of the requests of the caller itself. */
const isExcludedPath = (path: string) =>
  /^\/(?:oauth2|auth|portal|docs|errors|resources|logs|onboarding\/v1\/activations)/.test(path);
/** Payments, QR payments, retail, reports and claim conflicts: the permission matrix tests try them. */
const pathsWithoutIdentifier = 33;
/** Values of path parameters that every organisation has. */
const sharedValues = { level: 'merchants', version: '1', sequence: '1' };

/** One resource of each kind that an organisation can create through the API without devices. */
async function createResources(
  attempts: Attempts,
  { call, create, victim }: Production,
): Promise<ResourceIds> {
  const { token, realm: userDomainId, organizationId } = victim;
  const made = (path: string, body?: object) => create(token, path, body);
  const merchant = { name: 'Shop', country: 'FR', mcc: '5411', timeZone: 'Europe/Paris' };
  const { merchantId } = await made(`${base}/merchants`, merchant);
  const { storeId } = await made(`${base}/stores`, { merchantId, name: 'Store' });
  const { logicalDeviceId } = await made(`${base}/logical-devices`, { storeId, name: 'Till' });
  const serialNumber = newSerial(attempts);
  const hardware = { serialNumber, make: 'AXIUM', model: 'DX8000', family: 'axium', merchantId };
  const { physicalDeviceId } = await made(`${base}/physical-devices`, hardware);
  const { csr: certificateRequest } = await createCertificateRequest();
  const certificates = `${base}/physical-devices/${physicalDeviceId}/certificates`;
  const { thumbprint } = await made(certificates, { certificateRequest });
  const { pointOfSaleId } = await made(`${base}/points-of-sale`, { storeId, name: 'Till' });
  const link = { name: 'Host', host: '8.8.8.8', port: 8583, institutionId: '100001' };
  const { acquirerLinkId } = await made(`${base}/acquirer-links`, link);
  const contracts = `${base}/merchants/${merchantId}/acquirer-contracts`;
  const { contractId } = await made(contracts, acquirerContract(acquirerLinkId));
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
  const { deliveryId } = await made(`/webhooks/v1/endpoints/${endpointId}/test`);
  const service = { name: 'Receipts', domain: 'Printing' };
  const { serviceId } = await made(`${catalog}/services`, service);
  // Everyone reads a published service, so that the attacked one stays a draft.
  const published = await made(`${catalog}/services`, { ...service, name: 'Published' });
  await made(`${catalog}/services/${published.serviceId}/publish`);
  const offer = { name: 'Receipts', serviceIds: [published.serviceId] };
  const { packageId } = await made(`${catalog}/packages`, offer);
  const { subscriptionId } = await made(`${catalog}/subscriptions`, { packageId });
  const activation = {
    serviceId: published.serviceId,
    level: 'Organization',
    entityId: organizationId,
  };
  const { activationId } = await made(`${catalog}/activations`, activation);
  const bulkId = randomUUID();
  const bulk = await call(token, 'POST', `${base}/bulk?bulkId=${bulkId}`, {
    raw: JSON.stringify({
      type: 'merchant',
      operation: 'create',
      data: { ...merchant, externalId: bulkId },
    }),
    headers: { 'content-type': 'application/jsonl' },
  });
  attempts.requireControl(`the owner imports: ${describeResponse(bulk)}`, bulk.status === 200);
  return {
    organizationId,
    userDomainId,
    merchantId,
    storeId,
    logicalDeviceId,
    physicalDeviceId,
    thumbprint,
    pointOfSaleId,
    acquirerLinkId,
    contractId,
    clientId,
    userId,
    endpointId,
    deliveryId,
    serviceId,
    packageId,
    subscriptionId,
    activationId,
    bulkId,
    entityId: merchantId,
    // The sign-up of an organisation has its identifier.
    signUpId: organizationId,
  };
}

const acquirerContract = (acquirerLink: string | undefined) => ({
  acquirerLink,
  acquirerMerchantId: '100000000000001',
  terminalIdRange: { from: 'CAFE0001', to: 'CAFE0099' },
  currencies: ['EUR'],
  captureModes: ['Immediate'],
  defaultCaptureMode: 'Immediate',
});

/** Valid bodies of the operations whose document has no example, or one that is refused before the owner is checked. */
async function createBodies({ acquirerLinkId }: ResourceIds): Promise<Bodies> {
  const { csr: certificateRequest } = await createCertificateRequest();
  return {
    createAcquirerContract: acquirerContract(acquirerLinkId),
    updateAcquirerContract: acquirerContract(acquirerLinkId),
    issueDeviceCertificate: { certificateRequest },
  };
}

/** The example with the identifiers of the other organisation. */
function insertIdentifiers(example: unknown, ids: ResourceIds): unknown {
  if (Array.isArray(example)) return example.map((item) => insertIdentifiers(item, ids));
  if (typeof example !== 'object' || example === null) return example;
  return Object.fromEntries(
    Object.entries(example).map(([name, value]) => [
      name,
      ids[name] ?? insertIdentifiers(value, ids),
    ]),
  );
}

const parametersOf = (template: string) =>
  [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);

/** @returns the requests to try, and the number of paths with a parameter that has no identifier here */
function createRequests(
  { paths }: Document,
  ids: ResourceIds,
  bodies: Bodies,
): { requests: ForeignRequest[]; skipped: number } {
  const values: ResourceIds = { ...ids, ...sharedValues };
  const included = Object.entries(paths).filter(([template]) => !isExcludedPath(template));
  const coveredPaths = included.filter(([template]) =>
    parametersOf(template).every((name) => values[name] !== undefined),
  );
  const requests = coveredPaths.flatMap(([template, operations]) => {
    const hasParameters = template.includes('{');
    const path = template.replace(/\{(\w+)\}/g, (_whole, name) => values[name] ?? '');
    return Object.entries(operations)
      .filter(([, { security }]) => security === undefined || security.length > 0)
      .filter(([method]) => hasParameters || method === 'get')
      .map(([method, { operationId, requestBody }]) => {
        const example = requestBody?.content['application/json']?.example;
        const body = bodies[operationId] ?? insertIdentifiers(example, ids);
        return { method: method.toUpperCase(), path, name: operationId, ...defined({ body }) };
      });
  });
  return { requests, skipped: included.length - coveredPaths.length };
}

/** The caller, its permission or its scope is refused. Another client error, such as 422, would not show a check of the owner. */
const accessRefusals: readonly number[] = [401, 403, 404];

/** A list without an identifier is the caller's own; a request with one must be refused. */
function isRefused(
  { method }: ForeignRequest,
  status: number,
  url: string,
  foreign: readonly string[],
) {
  const isNamed = foreign.some((id) => url.includes(id));
  if (!isNamed) return status < 500;
  // A route without the query parameter `organizationId` refuses it with 422.
  return accessRefusals.includes(status) || (method === 'GET' && isClientError(status));
}

async function sendRequests(
  attempts: Attempts,
  production: Production,
  ids: ResourceIds,
): Promise<void> {
  const { attacker, call, createUser, signIn, victim } = production;
  const administrator = await signIn(attacker, await createUser(attacker, 'org_admin'));
  const document: Document = (await call(undefined, 'GET', '/openapi.json')).body;
  const { requests, skipped } = createRequests(document, ids, await createBodies(ids));
  attempts.requireControl(
    `${pathsWithoutIdentifier} paths have no identifier in this attack: ${skipped}`,
    skipped === pathsWithoutIdentifier,
  );
  const foreign = Object.values(ids);
  /** The list of services names the provider of each published one. */
  const isPublic = (path: string, id: string) =>
    path === `${catalog}/services` && id === victim.organizationId;
  const callers = [
    ['an application', attacker.token],
    ['an administrator', administrator],
    ['no caller', undefined],
  ] as const;
  for (const request of requests) {
    const { method, path, name, body } = request;
    const ownListPath = `${path}?organizationId=${victim.organizationId}`;
    for (const [caller, token] of callers) {
      for (const url of [path, ownListPath]) {
        const headers = method === 'GET' ? {} : { 'if-match': '*' };
        const answer = await call(token, method, url, { headers, ...defined({ body }) });
        const leaked = foreign.find(
          (id) => answer.text.includes(id) && !url.includes(id) && !isPublic(path, id),
        );
        attempts.record({
          description: `${caller}, ${method} ${url} (${name})${leaked === undefined ? '' : ` tells ${leaked}`}`,
          response: `${method}: ${describeResponse(answer)}`.replace(
            /^GET: 200.*/,
            'GET: 200 own list',
          ),
          isDefended: isRefused(request, answer.status, url, foreign) && leaked === undefined,
        });
      }
    }
  }
}

export const foreignIdentifiersAttack: Attack = {
  item: 10,
  name: 'routes of provisioning, users, applications, webhooks and services with foreign identifiers',
  async run(attempts, platforms) {
    const production = await platforms.production();
    const { call, victim } = production;
    const ids = await createResources(attempts, production);
    await sendRequests(attempts, production, ids);
    const domain = `user-domains/${ids['userDomainId']}`;
    const resourcePaths = [
      `${base}/merchants/${ids['merchantId']}`,
      `${base}/stores/${ids['storeId']}`,
      `${base}/logical-devices/${ids['logicalDeviceId']}`,
      `${base}/physical-devices/${ids['physicalDeviceId']}`,
      `${base}/points-of-sale/${ids['pointOfSaleId']}`,
      `${base}/acquirer-links/${ids['acquirerLinkId']}`,
      `/application-management/v1/${domain}/applications/${ids['clientId']}`,
      `/user-management/v2/${domain}/users/${ids['userId']}`,
      `/webhooks/v1/endpoints/${ids['endpointId']}`,
      `${catalog}/services/${ids['serviceId']}`,
      `${catalog}/packages/${ids['packageId']}`,
      `${catalog}/subscriptions/${ids['subscriptionId']}`,
      `/webhooks/v1/deliveries/${ids['deliveryId']}`,
      `${base}/bulk/${ids['bulkId']}`,
    ];
    for (const path of resourcePaths) {
      const answer = await call(victim.token, 'GET', path);
      const response = `after the attack, the owner reads: ${answer.status}`;
      attempts.record({ description: path, response, isDefended: answer.status === 200 });
    }
  },
};
