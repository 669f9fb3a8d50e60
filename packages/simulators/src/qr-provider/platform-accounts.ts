// The accounts of the provider on the platform: the secrets that sign calls, and the clients that send events.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createEventsClient, type EventsClient } from '@switchyard/sdk-provider';

/** An application of the provider, in the user domain of the token URL. */
type Account = {
  /** `whsec_…` of the service; both secrets during a rotation. */
  readonly signingSecrets: readonly string[];
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
};

/** The values that a provider receives when it joins a platform. The file must be readable by its owner only. */
export type QrPlatformSettings = Account & {
  readonly baseUrl: string;
  /** A PEM file with certificate authorities. */
  readonly caFile?: string;
  /** Further services, each with its own account. */
  readonly accounts?: readonly (Account & { readonly serviceId: string })[];
};

export type PlatformAccounts = {
  /** Empty while the file does not exist. */
  secrets(): readonly string[];
  /** The client of the account of this service; the first account where none matches. */
  client(serviceId?: string): EventsClient | undefined;
  close(): void;
};

const ownerOnly = 0o600;
const secretFile = 'signing-secret';
const secretBytes = 32;
const checkToken = 'check';

type Clients = {
  clientFor(serviceId: string | undefined): EventsClient;
  close(): void;
};

function clientsOf(facts: QrPlatformSettings): Clients {
  const { baseUrl, caFile, accounts = [] } = facts;
  const ca = caFile === undefined ? {} : { ca: readFileSync(caFile) };
  const made = ({ tokenUrl, clientId, clientSecret }: Account) =>
    createEventsClient({ baseUrl, tokenUrl, clientId, clientSecret, ...ca });
  const first = made(facts);
  const others = new Map(accounts.map((account) => [account.serviceId, made(account)]));
  return {
    clientFor: (serviceId = '') => others.get(serviceId) ?? first,
    close() {
      for (const client of [first, ...others.values()]) client.close();
    },
  };
}

const secretsOf = ({ signingSecrets, accounts = [] }: QrPlatformSettings): readonly string[] => [
  ...signingSecrets,
  ...accounts.flatMap((account) => account.signingSecrets),
];

export function platformAccountsFromSettings(facts: QrPlatformSettings): PlatformAccounts {
  const clients = clientsOf(facts);
  return { secrets: () => secretsOf(facts), client: clients.clientFor, close: clients.close };
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

type Members = Readonly<Record<string, unknown>>;

/** @throws Error that names the missing field and contains no value */
function readAccount(file: string, fields: Members): Account {
  const { signingSecrets, tokenUrl, clientId, clientSecret } = fields;
  if (!Array.isArray(signingSecrets) || !signingSecrets.every(isText)) {
    throw new Error(`${file} has no signingSecrets`);
  }
  const texts = { tokenUrl, clientId, clientSecret };
  for (const [name, value] of Object.entries(texts)) {
    if (!isText(value)) throw new Error(`${file} has no ${name}`);
  }
  return { signingSecrets, ...(texts as Omit<Account, 'signingSecrets'>) };
}

function readSettings(file: string): QrPlatformSettings {
  let facts: Members;
  try {
    facts = Object(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    throw new Error(`${file} cannot be read as JSON`);
  }
  const { baseUrl, caFile, accounts = [] } = facts;
  if (!isText(baseUrl)) throw new Error(`${file} has no baseUrl`);
  if (!Array.isArray(accounts)) throw new Error(`${file} has accounts that are no list`);
  const others = accounts.map((account: unknown) => {
    const fields: Members = Object(account);
    const { serviceId } = fields;
    if (!isText(serviceId)) throw new Error(`${file} has an account without a serviceId`);
    return { serviceId, ...readAccount(file, fields) };
  });
  const settings = { ...readAccount(file, facts), baseUrl, accounts: others };
  return { ...settings, ...(isText(caFile) ? { caFile } : {}) };
}

/** Reads the file again when it changes: secrets can rotate while the provider runs. */
export function platformAccountsFromFile(
  file: string,
  onFault: (error: unknown) => void,
): PlatformAccounts {
  let loadedVersion = '';
  let facts: QrPlatformSettings | undefined;
  let clients: Clients | undefined;

  function reload(): void {
    const stats = statSync(file, { throwIfNoEntry: false });
    const version = stats === undefined ? '' : `${stats.mtimeMs} ${stats.size} ${stats.ino}`;
    if (version === loadedVersion) return;
    loadedVersion = version;
    clients?.close();
    facts = undefined;
    clients = undefined;
    if (stats === undefined) return;
    try {
      const read = readSettings(file);
      clients = clientsOf(read);
      facts = read;
    } catch (error) {
      onFault(error);
    }
  }

  return {
    secrets() {
      reload();
      return facts === undefined ? [] : secretsOf(facts);
    },
    client(serviceId) {
      reload();
      return clients?.clientFor(serviceId);
    },
    close: () => clients?.close(),
  };
}

/** For `switchyard provider conformance`: an own secret, and events to the URL in each call. */
export function platformAccountsForConformance(directory: string): PlatformAccounts {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, secretFile);
  if (!existsSync(path)) {
    const secret = `whsec_${randomBytes(secretBytes).toString('base64')}`;
    writeFileSync(path, `${secret}\n`, { mode: ownerOnly, flag: 'wx' });
  }
  const secrets = [readFileSync(path, 'utf8').trim()];
  const client = createEventsClient({ anyOrigin: true, token: checkToken });
  return { secrets: () => secrets, client: () => client, close: client.close };
}
