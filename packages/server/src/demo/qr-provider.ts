// Runs the reference provider of QR payments for the demo: its process, address and secrets.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Service, ServiceInput } from '@switchyard/contract';
import { type Catalog, scopeAuthoredByPlatform } from '../catalog/index.ts';
import type { Clock, Log, Settings } from '../platform/index.ts';
import { type DemoUserDomain, demoQrService } from './demo-data.ts';
import { simulatorFile, startSupervisedProcess } from './supervised-process.ts';

type Addresses = Pick<Settings, 'baseUrl' | 'authUrl'>;

export type QrProvider = {
  /** The address that the service declares. */
  readonly url: string;
  /** The directory of its payments. */
  readonly dir: string;
  /** Gives the provider the addresses of the platform and the shared secrets. */
  introduce(
    addresses: Addresses,
    accounts: readonly ProviderClient[],
    caFile?: string | undefined,
  ): Promise<void>;
  stop(): Promise<void>;
};

/** A service, and the application with which its provider calls the platform. */
export type ProviderClient = {
  readonly serviceId: string;
  readonly userDomain: DemoUserDomain;
  readonly clientId: string;
  readonly clientSecret: string;
};

type Deps = {
  /** 0 selects a free port. */
  readonly port: number;
  readonly dataDir: string;
  readonly services: Pick<Catalog['services'], 'get' | 'replace' | 'publish' | 'rotateSecret'>;
  readonly clock: Clock;
  readonly log: Log;
};

const path = '/switchyard';
/** The address of an earlier start; a user has declared every other address. */
const demoUrlPattern = /^http:\/\/127\.0\.0\.1:\d{1,5}\/switchyard$/;
const ownerOnly = 0o600;
const ownerOnlyDirectory = 0o700;
type Secrets = readonly string[];

/** The keys are service IDs; the first account is at the top level of the file. */
function secretsIn(file: string): ReadonlyMap<string, Secrets> {
  const secretsByService = new Map<string, Secrets>();
  try {
    const facts = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    const others: unknown[] = Array.isArray(facts['accounts']) ? facts['accounts'] : [];
    for (const account of [{ serviceId: demoQrService.serviceId, ...facts }, ...others]) {
      const { serviceId, signingSecrets } = Object(account) as Record<string, unknown>;
      if (Array.isArray(signingSecrets))
        secretsByService.set(String(serviceId), signingSecrets.map(String));
    }
    return secretsByService;
  } catch {
    return new Map();
  }
}

/** Writes a temporary file first, because the provider reads the file at each change. */
function write(file: string, facts: object): void {
  const text = `${JSON.stringify(facts, undefined, 2)}\n`;
  writeFileSync(`${file}.new`, text, { mode: ownerOnly });
  renameSync(`${file}.new`, file);
}

function declarationOf(service: Service): ServiceInput {
  const {
    serviceId,
    organizationId: _owner,
    status,
    release,
    unpublishedChanges,
    ...rest
  } = service;
  const { createdAt: _made, updatedAt: _changed, ...declaration } = rest;
  return declaration;
}

/** @throws SimulatorStartError if the process cannot start */
export async function startQrProvider(deps: Deps): Promise<QrProvider> {
  const { services, clock, log, port } = deps;
  const dir = join(deps.dataDir, 'qr-provider');
  const file = join(dir, 'platform.json');
  mkdirSync(dir, { recursive: true, mode: ownerOnlyDirectory });
  const process = await startSupervisedProcess({
    name: 'reference provider of QR payments',
    file: simulatorFile('qr-provider/main.ts'),
    port,
    clock,
    log,
    args: (listenPort) => [
      'serve',
      '--data',
      dir,
      '--platform',
      file,
      '--path',
      path,
      '--port',
      String(listenPort),
    ],
  });
  const url = `http://127.0.0.1:${process.port}${path}`;

  /** The address of the service follows the process, unless a user has declared another one. */
  async function declare({ serviceId, userDomain }: ProviderClient): Promise<void> {
    const scope = scopeAuthoredByPlatform(userDomain.organizationId);
    const { view } = await services.get(scope, serviceId);
    const { spiUrl } = view;
    if (spiUrl === url || view.status !== 'Published') return;
    if (spiUrl !== undefined && !demoUrlPattern.test(spiUrl)) return;
    await services.replace(scope, serviceId, { ...declarationOf(view), spiUrl: url });
    await services.publish(scope, serviceId);
  }

  /** The platform shows a secret only once, so a lost file requires a new secret. */
  async function renewed({ serviceId, userDomain }: ProviderClient): Promise<Secrets> {
    const scope = scopeAuthoredByPlatform(userDomain.organizationId);
    return [(await services.rotateSecret(scope, serviceId)).signingSecret];
  }

  return {
    url,
    dir,
    stop: process.stop,
    async introduce({ baseUrl, authUrl }, accounts, caFile) {
      const knownSecrets = secretsIn(file);
      const facts = await Promise.all(
        accounts.map(async (account) => {
          const { serviceId, userDomain, clientId, clientSecret } = account;
          const signingSecrets = knownSecrets.get(serviceId) ?? (await renewed(account));
          const tokenUrl = `${authUrl}/oauth2/v1/${userDomain.userDomainId}/token`;
          return { serviceId, signingSecrets, tokenUrl, clientId, clientSecret };
        }),
      );
      const [first, ...others] = facts;
      write(file, { ...first, baseUrl, caFile, accounts: others });
      for (const account of accounts) await declare(account);
    },
  };
}
