// The attacked platforms: production with two organisations that do not trust each other, and a demo.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defined } from '@switchyard/contract';
import { makeCertificate } from '../../packages/server/src/http/authentication/certificate.fixture.ts';
import { freePorts } from '../../packages/server/test/support/free-ports.ts';
import {
  type Client,
  createClient,
  type HttpResponse,
  type RequestOptions,
} from '../../packages/server/test/support/https-client.ts';
import { otpCodeAt } from '../../packages/server/test/support/identity/test-users.ts';
import {
  type ProductionPlatform,
  startProductionPlatform,
} from '../../packages/server/test/support/processes/production-platform.ts';
import {
  createServerProcess,
  type DemoFacts,
  type ServerProcess,
} from '../../packages/server/test/support/processes/server-process.ts';
import {
  createManufacturer,
  type Manufacturer,
} from '../../packages/server/test/support/provisioning/test-manufacturer.ts';
import { type CloseStack, createCloseStack } from '../bench/close-in-reverse-order.ts';
import {
  type CountingServer,
  startAllowedReceiver,
  startPrivateServer,
} from './counting-servers.ts';
import { type NameServer, startNameServer } from './name-server.ts';
import { formBody } from './requests.ts';

const password = 'nine tills under one long roof';
/** The period of one-time codes. Each code is accepted once, and one period before and after its own. */
const codePeriodMs = 30_000;
/** A busy machine needs so long from the code to the check of it. */
const codeMarginMs = 15_000;

export type User = {
  readonly username: string;
  readonly password: string;
  readonly otpSecret: string | undefined;
};

export type Organization = {
  readonly organizationId: string;
  readonly realm: string;
  readonly administrator: User;
  /** Of an application with the role `AcquirerAdministrator`. */
  readonly token: string;
  readonly application: { readonly clientId: string; readonly clientSecret: string };
};

export type Production = {
  readonly platform: ProductionPlatform;
  readonly attacker: Organization;
  readonly victim: Organization;
  readonly operatorToken: string;
  readonly nameServer: NameServer;
  /** On loopback, where only private services listen. */
  readonly privateServers: readonly CountingServer[];
  /** A webhook receiver that the operator has allowed, and that redirects to private services. */
  readonly redirector: CountingServer;
  readonly manufacturer: Manufacturer;
  /** @throws Error if the platform refuses */
  create(
    token: string,
    path: string,
    body?: unknown,
    method?: string,
  ): Promise<HttpResponse['body']>;
  call(
    token: string | undefined,
    method: string,
    path: string,
    options?: RequestOptions,
  ): Promise<HttpResponse>;
  /** A client at another loopback address: limits by address count it apart. */
  clientFrom(localAddress: string): Client;
  createUser(organization: Organization, group: string): Promise<User>;
  /** A token of the user by the password grant. */
  signIn(organization: Organization, user: User): Promise<string>;
};

export type DemoPlatform = {
  readonly client: Client;
  readonly facts: DemoFacts;
  tokenOf(name: string): Promise<string>;
};

export type Platforms = {
  production(): Promise<Production>;
  demo(): Promise<DemoPlatform>;
  close(): Promise<void>;
};

/** Uses each one-time code once: the next sign-in takes the code of the next period. */
const usedPeriods = new Map<string, number>();
export async function nextCode(otpSecret: string): Promise<string> {
  const periodOf = (ms: number) => Math.floor(ms / codePeriodMs);
  const period = Math.max(
    (usedPeriods.get(otpSecret) ?? 0) + 1,
    periodOf(Date.now() + codeMarginMs) - 1,
  );
  while (period > periodOf(Date.now()) + 1) {
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  usedPeriods.set(otpSecret, period);
  return otpCodeAt(otpSecret, period * codePeriodMs);
}

async function openProduction(closers: CloseStack): Promise<Production> {
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-attack-'));
  closers.add(() => rm(directory, { recursive: true, force: true }));
  function closeLater<Opened extends { close(): unknown }>(opened: Opened): Opened {
    closers.add(() => opened.close());
    return opened;
  }
  const nameServer = closeLater(await startNameServer());
  const first = closeLater(await startPrivateServer());
  const privateServers = [
    first,
    closeLater(await startPrivateServer()),
    closeLater(await startPrivateServer()),
  ];
  const receiverCertificate = await makeCertificate('localhost');
  const redirectTargets = [
    `https://localhost:${first.port}/`,
    `http://127.0.0.1:${first.port}/`,
    `http://localhost:${first.port}/latest/meta-data/`,
  ];
  let redirects = 0;
  const redirector = closeLater(
    await startAllowedReceiver(receiverCertificate, (_request, response) => {
      const location = redirectTargets[redirects % redirectTargets.length];
      response.writeHead(307, { location }).end();
      redirects += 1;
    }),
  );
  const receiverCa = join(directory, 'receiver.pem');
  await writeFile(receiverCa, receiverCertificate.cert);
  const manufacturer = await createManufacturer('Terminals Ltd');
  const manufacturerCa = join(directory, 'manufacturers.pem');
  await writeFile(manufacturerCa, manufacturer.certificate);
  const platform = closeLater(
    await startProductionPlatform({
      SWITCHYARD_DEVICE_CA_FILE: manufacturerCa,
      SWITCHYARD_ALLOWED_ADDRESSES: `127.0.0.1:${redirector.port}`,
      // The rule for ports must not hide a fault of the rule for addresses.
      SWITCHYARD_ALLOWED_PORTS: privateServers.map(({ port }) => port).join(','),
      NODE_EXTRA_CA_CERTS: receiverCa,
      NODE_OPTIONS: `--import=${fileURLToPath(new URL('./use-name-server.ts', import.meta.url))}`,
      ATTACK_NAME_SERVER: nameServer.address,
    }),
  );
  const { client, operator, mail } = platform;
  const operatorToken = await client.token(
    operator.userDomainId,
    operator.clientId,
    operator.clientSecret,
  );

  const call: Production['call'] = (token, method, path, options = {}) =>
    client.call(method, path, { ...defined({ token }), ...options });
  const create: Production['create'] = async (token, path, body, method = 'POST') => {
    const answer = await call(token, method, path, defined({ body }));
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  };

  async function activate(
    email: string,
  ): Promise<User & { organizationId: string; realm: string }> {
    const link = /\/links\/([\w-]{43})/.exec(await mail.mailTo(email, /\/links\//))?.[1];
    const path = `/onboarding/v1/activations/${link}`;
    const { body } = await call(undefined, 'POST', path, { body: { password } });
    const { username, organizationId, userDomainId: realm, oneTimePassword } = body;
    const otpSecret: string | undefined = oneTimePassword?.secret;
    if (otpSecret !== undefined) {
      const code = await nextCode(otpSecret);
      const { status, text } = await call(undefined, 'POST', `${path}/otp`, { body: { code } });
      assert.equal(status, 200, text);
    }
    return { username, password, otpSecret, organizationId, realm };
  }

  const signIn: Production['signIn'] = async ({ realm }, user) => {
    const { otpSecret } = user;
    const fields = {
      grant_type: 'password',
      client_id: 'switchyard-cli',
      username: user.username,
      password: user.password,
      ...defined({ totp: otpSecret === undefined ? undefined : await nextCode(otpSecret) }),
    };
    const { body, text } = await call(
      undefined,
      'POST',
      `/oauth2/v1/${realm}/token`,
      formBody(fields),
    );
    assert.ok(body?.access_token, text);
    return body.access_token;
  };

  async function createOrganization(name: string): Promise<Organization> {
    const email = `ann-${randomUUID()}@bank.example`;
    const person = { email, givenName: 'Ann', familyName: 'Carter', country: 'FR' };
    const signUp = { organizationName: name, persona: 'Acquirer', ...person };
    const signUps = '/onboarding/v1/sign-ups';
    assert.equal((await call(undefined, 'POST', signUps, { body: signUp })).status, 202);
    const { items } = await create(operatorToken, `${signUps}?status=Pending`, undefined, 'GET');
    const [{ signUpId }] = items.filter((item: { email: string }) => item.email === email);
    await create(operatorToken, `${signUps}/${signUpId}/approve`);
    const { organizationId, realm, ...administrator } = await activate(email);
    const organization = { organizationId, realm, administrator };
    const empty = { token: '', application: { clientId: '', clientSecret: '' } };
    const personal = await signIn({ ...organization, ...empty }, administrator);
    const applications = `/application-management/v1/user-domains/${realm}/applications`;
    const applicationDraft = { name: 'Operations', roles: ['AcquirerAdministrator'] };
    const { clientId, clientSecret } = await create(personal, applications, applicationDraft);
    const token = await client.token(realm, clientId, clientSecret);
    return { ...organization, token, application: { clientId, clientSecret } };
  }

  const attacker = await createOrganization('Mallory Pay');
  const victim = await createOrganization('Banque du Nord');
  return {
    platform,
    attacker,
    victim,
    operatorToken,
    nameServer,
    privateServers,
    redirector,
    manufacturer,
    create,
    call,
    signIn,
    clientFrom(localAddress) {
      const from = { localAddress, family: 4 } as const;
      const ca = readFileSync(platform.caFile, 'utf8');
      return closeLater(createClient(platform.baseUrl, ca, from));
    },
    async createUser({ realm, organizationId, token }, group) {
      const email = `user-${randomUUID()}@bank.example`;
      const groups = [`${organizationId}_${group}`];
      const users = `/user-management/v2/user-domains/${realm}/users`;
      const entity = { entityId: organizationId, scope: organizationId };
      await create(token, users, { username: email, email, groups, ...entity });
      return activate(email);
    },
  };
}

async function openDemo(closers: CloseStack): Promise<DemoPlatform> {
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-attack-demo-'));
  closers.add(() => rm(directory, { recursive: true, force: true }));
  const [port, devicePort, acquirerPort, metricsPort] = (await freePorts(4)).map(String);
  const server: ServerProcess = createServerProcess({
    SWITCHYARD_ENVIRONMENT: 'demo',
    SWITCHYARD_DATA_DIR: directory,
    SWITCHYARD_PORT: port ?? '',
    SWITCHYARD_DEVICE_PORT: devicePort ?? '',
    SWITCHYARD_ACQUIRER_PORT: acquirerPort ?? '',
    SWITCHYARD_METRICS_PORT: metricsPort ?? '',
    SWITCHYARD_LOG_LEVEL: 'warn',
  });
  closers.add(() => server.stop());
  await server.start();
  const [client, facts] = await Promise.all([server.client(), server.demoFacts()]);
  return {
    client,
    facts,
    async tokenOf(name) {
      const { clientId = '', clientSecret = '' } = facts.applications[name] ?? {};
      return client.token(facts.userDomainId, clientId, clientSecret);
    },
  };
}

/** Starts each platform when an attack first needs it. */
export function createPlatforms(): Platforms {
  const closers = createCloseStack();
  let production: Promise<Production> | undefined;
  let demo: Promise<DemoPlatform> | undefined;
  return {
    production() {
      production ??= openProduction(closers);
      return production;
    },
    demo() {
      demo ??= openDemo(closers);
      return demo;
    },
    close: () => closers.close(),
  };
}
