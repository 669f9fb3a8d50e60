// The reference provider of QR payments beside the demo: its process, its address, its secrets.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Service, ServiceInput } from '@switchyard/contract';
import { byPlatform, type Catalog } from '../catalog/index.ts';
import type { Clock, Log, Settings } from '../platform/index.ts';
import { demoQrService, demoUserDomainId, organizationId } from './catalogue.ts';
import { programOf, startSupervised } from './supervised.ts';

type Addresses = Pick<Settings, 'baseUrl' | 'authUrl'>;

export type QrProvider = {
  /** What the service declares. */
  readonly url: string;
  /** Where it keeps its payments. */
  readonly dir: string;
  /** Tells it where the platform is, and by which secrets both know each other. */
  introduce(addresses: Addresses, secrets: ProviderSecrets): Promise<void>;
  stop(): Promise<void>;
};

export type ProviderSecrets = {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly caFile?: string | undefined;
};

type Deps = {
  /** 0 takes a free one. */
  readonly port: number;
  readonly dataDir: string;
  readonly services: Pick<Catalog['services'], 'get' | 'replace' | 'publish' | 'renewSecret'>;
  readonly clock: Clock;
  readonly log: Log;
};

const path = '/switchyard';
/** An address that an earlier start has declared; any other one is somebody's own. */
const ours = /^http:\/\/127\.0\.0\.1:\d{1,5}\/switchyard$/;
const ownerOnly = 0o600;
const ownerOnlyDirectory = 0o700;
const by = byPlatform(organizationId);

function secretsIn(file: string): readonly string[] | undefined {
  try {
    const { signingSecrets } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    return Array.isArray(signingSecrets) ? signingSecrets.map(String) : undefined;
  } catch {
    return undefined;
  }
}

/** Under another name first: the provider reads it whenever it changes. */
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

/** @throws SimulatorFault where the process cannot be started at all */
export async function startQrProvider(deps: Deps): Promise<QrProvider> {
  const { services, clock, log, port } = deps;
  const dir = join(deps.dataDir, 'qr-provider');
  const file = join(dir, 'platform.json');
  mkdirSync(dir, { recursive: true, mode: ownerOnlyDirectory });
  const process = await startSupervised({
    name: 'reference provider of QR payments',
    main: programOf('qr-provider/main.ts'),
    ...{ port, clock, log },
    args: (taken) => [
      ...['serve', '--data', dir, '--platform', file, '--path', path, '--port', String(taken)],
    ],
  });
  const url = `http://127.0.0.1:${process.port}${path}`;

  /** The service follows the process, unless somebody gave it an address of his own. */
  async function declare(): Promise<void> {
    const { view } = await services.get(by, demoQrService.serviceId);
    const { spiUrl } = view;
    if (spiUrl === url || view.status !== 'Published') return;
    if (spiUrl !== undefined && !ours.test(spiUrl)) return;
    await services.replace(by, demoQrService.serviceId, { ...declarationOf(view), spiUrl: url });
    await services.publish(by, demoQrService.serviceId);
  }

  return {
    ...{ url, dir, stop: process.stop },
    async introduce({ baseUrl, authUrl }, { clientId, clientSecret, caFile }) {
      const known = secretsIn(file);
      // Shown once: where the file was lost, there is a new one.
      const renew = () => services.renewSecret(by, demoQrService.serviceId);
      const signingSecrets = known ?? [(await renew()).signingSecret];
      const tokenUrl = `${authUrl}/oauth2/v1/${demoUserDomainId}/token`;
      const facts = { ...{ signingSecrets, baseUrl, tokenUrl, clientId, clientSecret }, caFile };
      write(file, facts);
      await declare();
    },
  };
}
