// Item 1: addresses that a tenant sets must not lead the platform to private services.
import { setTimeout as pause } from 'node:timers/promises';
import type { Attack, Attempts } from '../attack.ts';
import { isClientError } from '../describe-response.ts';
import type { Organization, Production } from '../platforms.ts';

/** Forms in which programs read private, loopback and link-local addresses. */
const privateHosts = `
  127.0.0.1 127.1 127.0.0.2 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001
  0.0.0.0 0 localhost LOCALHOST localhost. a.localhost 127.0.0.1. 10.0.0.1 172.16.0.1
  172.31.255.255 192.168.0.1 100.64.0.1 169.254.169.254 2852039166 0xa9fea9fe
  198.18.0.1 192.0.0.1 224.0.0.1 255.255.255.255 ::1 :: ::ffff:127.0.0.1 ::ffff:7f00:1
  ::ffff:a9fe:a9fe ::127.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 2002:7f00:1::
  fe80::1 fd00::1 fd00:ec2::254 fc00::1 ff02::1 fec0::1
`
  .trim()
  .split(/\s+/);
const publicAddress = '8.8.8.8';
/** Longer than the first attempts of a link, a delivery and a call of a provider. */
const connectLimitMs = 20_000;

type Address = { readonly host: string; readonly port: number };
type Response = { readonly status: number; readonly id: string; readonly response: string };
type Target = {
  readonly name: string;
  /** Saves the address. */
  save(production: Production, tenant: Organization, address: Address): Promise<Response>;
  /** Makes the platform connect; undefined if it connects by itself. */
  connect?(production: Production, tenant: Organization, id: string): Promise<void>;
};

const links = '/provisioning/v2/acquirer-links';
const approvals = '/provisioning/v2/acquirer-link-approvals';
const catalogue = '/service-catalog/v1';
let names = 0;
function nextName(kind: string): string {
  names += 1;
  return `${kind} ${names}`;
}

const urlOf = ({ host, port }: Address) =>
  `https://${host.includes(':') ? `[${host}]` : host}:${port}/hook`;

async function post(
  { call }: Production,
  token: string,
  path: string,
  body: object,
  idName: string,
): Promise<Response> {
  const { status, body: made } = await call(token, 'POST', path, { body });
  const response = `${status} ${made?.code ?? 'saved'}`;
  return { status, id: String(made?.[idName]), response };
}

const linkTarget = (name: string, members: object): Target => ({
  name,
  save: (production, { token }, address) => {
    const body = { name: nextName('link'), institutionId: '100001', ...members, ...address };
    return post(production, token, links, body, 'acquirerLinkId');
  },
  // Even an operator who approves every link must not open a way to private services.
  async connect({ create, operatorToken }, _tenant, acquirerLinkId) {
    const { items } = await create(operatorToken, `${approvals}?limit=200`, undefined, 'GET');
    const link = items.find(
      (item: Record<string, string>) => item['acquirerLinkId'] === acquirerLinkId,
    );
    const { host, port } = link;
    await create(operatorToken, `${approvals}/${acquirerLinkId}/approve`, { host, port });
  },
});

const targets: readonly Target[] = [
  linkTarget('acquirer link (ISO 8583)', {}),
  linkTarget('acquirer link (HTTP)', {
    adapter: 'HttpJson',
    httpJson: { path: '/acquirer', acquirerKeys: ['A'.repeat(43)] },
  }),
  {
    name: 'webhook',
    save: (production, { token }, address) => {
      const body = { url: urlOf(address), eventTypes: ['endpoint.test'] };
      return post(production, token, '/webhooks/v1/endpoints', body, 'endpointId');
    },
    async connect({ create }, { token }, endpointId) {
      await create(token, `/webhooks/v1/endpoints/${endpointId}/test`);
    },
  },
  {
    name: 'provider of a service',
    save: (production, { token }, address) => {
      const body = { name: nextName('service'), domain: 'Printing', spiUrl: urlOf(address) };
      return post(production, token, `${catalogue}/services`, body, 'serviceId');
    },
    async connect({ create }, { token, organizationId }, serviceId) {
      await create(token, `${catalogue}/services/${serviceId}/publish`);
      const offer = { name: nextName('package'), serviceIds: [serviceId] };
      const { packageId } = await create(token, `${catalogue}/packages`, offer);
      await create(token, `${catalogue}/subscriptions`, { packageId });
      const activation = { serviceId, level: 'Organization', entityId: organizationId };
      await create(token, `${catalogue}/activations`, activation);
    },
  },
];

async function saveEachForm(attempts: Attempts, production: Production): Promise<void> {
  const { attacker, privateServers } = production;
  for (const target of targets) {
    for (const host of privateHosts) {
      const address = { host, port: attempts.random.pick(privateServers).port };
      const { status, response } = await target.save(production, attacker, address);
      const description = `${target.name} to ${host}:${address.port}`;
      attempts.record({
        description,
        response: `saving: ${response}`,
        isDefended: isClientError(status),
      });
    }
  }
}

async function saveEachName(attempts: Attempts, production: Production): Promise<void> {
  const { attacker, nameServer, privateServers } = production;
  const [privateServer] = privateServers;
  const resolved = [
    ['127.0.0.1'],
    ['10.0.0.1'],
    ['169.254.169.254'],
    ['::1'],
    ['fd00::1'],
    ['::ffff:127.0.0.1'],
    [publicAddress, '127.0.0.1'],
    [publicAddress, '::1'],
  ];
  for (const target of targets) {
    for (const [index, addresses] of resolved.entries()) {
      const host = `private-${index}.attacker.example`;
      nameServer.setAddresses(host, addresses);
      const address = { host, port: privateServer?.port ?? 0 };
      const { status, response } = await target.save(production, attacker, address);
      const description = `${target.name} to a name with ${addresses.join(' and ')}`;
      attempts.record({
        description,
        response: `saving a name: ${response}`,
        isDefended: isClientError(status),
      });
    }
  }
  attempts.requireControl(
    'the platform asked the name server of the attack',
    nameServer.countQueries('private-0.attacker.example') > 0,
  );
}

/** Saved while the name is public; then the name moves to loopback, and the platform connects. */
async function rebindNames(attempts: Attempts, production: Production): Promise<void> {
  const { attacker, nameServer, privateServers } = production;
  const [privateServer] = privateServers;
  if (privateServer === undefined) throw new Error('there is no private server');
  for (const [index, target] of targets.entries()) {
    const host = `rebind-${index}.attacker.example`;
    nameServer.setAddresses(host, [publicAddress]);
    const { status, id, response } = await target.save(production, attacker, {
      host,
      port: privateServer.port,
    });
    attempts.requireControl(`${target.name} to a public name is saved: ${response}`, status < 300);
    nameServer.setAddresses(host, ['127.0.0.1']);
    const queries = nameServer.countQueries(host);
    const connections = privateServer.countConnections();
    await target.connect?.(production, attacker, id);
    const endMs = Date.now() + connectLimitMs;
    while (nameServer.countQueries(host) < queries + 2 && Date.now() < endMs) await pause(50);
    attempts.requireControl(
      `the platform looked the name up again to connect (${target.name})`,
      nameServer.countQueries(host) > queries,
    );
    await pause(500);
    const isDefended = privateServer.countConnections() === connections;
    const result = isDefended ? 'no connection' : 'the private service was connected';
    attempts.record({
      description: `DNS rebinding, ${target.name}`,
      response: `rebinding: ${result}`,
      isDefended,
    });
  }
}

const countPrivateConnections = ({ privateServers }: Production) =>
  privateServers.reduce((sum, server) => sum + server.countConnections(), 0);

async function followRedirects(attempts: Attempts, production: Production): Promise<void> {
  const { attacker, create, redirector } = production;
  const before = countPrivateConnections(production);
  const received = redirector.countConnections();
  const body = { url: `https://localhost:${redirector.port}/`, eventTypes: ['endpoint.test'] };
  const { endpointId } = await create(attacker.token, '/webhooks/v1/endpoints', body);
  for (let delivery = 0; delivery < 3; delivery += 1) {
    const { deliveryId } = await create(
      attacker.token,
      `/webhooks/v1/endpoints/${endpointId}/test`,
    );
    const path = `/webhooks/v1/deliveries/${deliveryId}`;
    const endMs = Date.now() + connectLimitMs;
    let view = await production.call(attacker.token, 'GET', path);
    while (view.body?.attempts === 0 && Date.now() < endMs) {
      await pause(50);
      view = await production.call(attacker.token, 'GET', path);
    }
    attempts.requireControl(
      `delivery ${delivery} was attempted`,
      Number.isInteger(view.body?.attempts) && view.body.attempts > 0,
    );
    const isDefended = countPrivateConnections(production) === before;
    const response = `redirect: ${isDefended ? 'not followed' : 'followed to a private service'}`;
    attempts.record({ description: 'webhook that redirects', response, isDefended });
  }
  attempts.requireControl(
    'the allowed receiver was called',
    redirector.countConnections() > received,
  );
}

async function connectWithoutApproval(attempts: Attempts, production: Production): Promise<void> {
  const { attacker, call } = production;
  const body = { name: nextName('link'), institutionId: '100001', host: publicAddress, port: 22 };
  const { body: link } = await call(attacker.token, 'POST', links, { body });
  const isPending = link?.approval === 'PendingApproval';
  attempts.record({
    description: 'a link of a tenant to a public host',
    response: `new link: ${link?.approval ?? link?.code}`,
    isDefended: isPending,
  });
  const linkPath = `${links}/${link?.acquirerLinkId}`;
  const approvalRequests: [string, string, object][] = [
    ['POST', `${approvals}/${link?.acquirerLinkId}/approve`, { host: publicAddress, port: 22 }],
    ['PUT', linkPath, { ...body, approval: 'Approved' }],
    ['PUT', linkPath, { ...body, status: 'Enabled' }],
  ];
  for (const [method, path, sent] of approvalRequests) {
    const headers = { 'if-match': '*' };
    const answer = await call(attacker.token, method, path, { body: sent, headers });
    const isDefended = answer.status < 500 && answer.body?.approval !== 'Approved';
    const response = `approving it: ${answer.status} ${answer.body?.code ?? answer.body?.approval}`;
    attempts.record({
      description: `the tenant approves its own link (${method})`,
      response,
      isDefended,
    });
  }
}

async function usePorts(attempts: Attempts, production: Production): Promise<void> {
  for (const target of targets.slice(2)) {
    for (const port of [22, 25, 80, 2375, 5432, 6379, 8080, 9200]) {
      const address = { host: publicAddress, port };
      const { status, response } = await target.save(production, production.attacker, address);
      const description = `${target.name} to port ${port} of a public address`;
      attempts.record({
        description,
        response: `port: ${response}`,
        isDefended: isClientError(status),
      });
    }
  }
}

export const privateAddressesAttack: Attack = {
  item: 1,
  name: 'links, HTTP acquirers, webhooks and providers to private addresses',
  async run(attempts, platforms) {
    const production = await platforms.production();
    await saveEachForm(attempts, production);
    await saveEachName(attempts, production);
    await usePorts(attempts, production);
    await connectWithoutApproval(attempts, production);
    await rebindNames(attempts, production);
    await followRedirects(attempts, production);
    const connections = countPrivateConnections(production);
    const response = `connections to private services: ${connections}`;
    attempts.record({ description: 'all of the above', response, isDefended: connections === 0 });
  },
};

/** The demo allows loopback and nothing else. */
export const privateAddressesInDemoAttack: Attack = {
  item: 1,
  name: 'the same addresses beyond loopback, in the demo',
  async run(attempts, platforms) {
    const { client, tokenOf } = await platforms.demo();
    const token = await tokenOf('acquirer');
    const hosts = privateHosts.filter(
      (host) => !/^(?:127|0177|017700|0x7f|2130|::1$|.*localhost)/i.test(host),
    );
    for (const host of hosts) {
      const body = { name: nextName('link'), institutionId: '100001', host, port: 8583 };
      const answer = await client.call('POST', links, { token, body });
      const response = `saving: ${answer.status} ${answer.body?.code ?? 'saved'}`;
      attempts.record({
        description: `acquirer link to ${host}`,
        response,
        isDefended: isClientError(answer.status),
      });
      const url = urlOf({ host, port: 8443 });
      const hook = { url, eventTypes: ['endpoint.test'] };
      const second = await client.call('POST', '/webhooks/v1/endpoints', { token, body: hook });
      attempts.record({
        description: `webhook to ${url}`,
        response: `saving: ${second.status} ${second.body?.code ?? 'saved'}`,
        isDefended: isClientError(second.status),
      });
    }
  },
};
