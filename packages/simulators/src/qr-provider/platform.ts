// The platform as the reference provider knows it: secrets that calls are signed with, and where events go.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createEventsClient, type EventsClient } from '@switchyard/sdk-provider';

/** What a provider is told when it joins a platform; in a file for its owner alone. */
export type QrPlatformFacts = {
  /** `whsec_…` of its service; while it is renewed, both. */
  readonly signingSecrets: readonly string[];
  readonly baseUrl: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** A file of certificate authorities, in PEM. */
  readonly caFile?: string;
};

export type Platform = {
  /** None as long as the file is not there. */
  secrets(): readonly string[];
  client(): EventsClient | undefined;
  close(): void;
};

const ownerOnly = 0o600;
const secretFile = 'signing-secret';
const secretBytes = 32;
const checkToken = 'check';

function clientOf(facts: QrPlatformFacts): EventsClient {
  const { baseUrl, tokenUrl, clientId, clientSecret, caFile } = facts;
  const ca = caFile === undefined ? {} : { ca: readFileSync(caFile) };
  return createEventsClient({ ...{ baseUrl, tokenUrl, clientId, clientSecret }, ...ca });
}

export function knownPlatform(facts: QrPlatformFacts): Platform {
  const client = clientOf(facts);
  return { secrets: () => facts.signingSecrets, client: () => client, close: client.close };
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** @throws Error that names what is missing, and no value */
function readFacts(file: string): QrPlatformFacts {
  let facts: Partial<Record<keyof QrPlatformFacts, unknown>>;
  try {
    facts = Object(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    throw new Error(`${file} cannot be read as JSON`);
  }
  const { signingSecrets, baseUrl, tokenUrl, clientId, clientSecret, caFile } = facts;
  if (!Array.isArray(signingSecrets) || !signingSecrets.every(isText)) {
    throw new Error(`${file} has no signingSecrets`);
  }
  for (const [name, value] of Object.entries({ baseUrl, tokenUrl, clientId, clientSecret })) {
    if (!isText(value)) throw new Error(`${file} has no ${name}`);
  }
  const texts = { baseUrl, tokenUrl, clientId, clientSecret } as Omit<
    QrPlatformFacts,
    'signingSecrets'
  >;
  return { signingSecrets, ...texts, ...(isText(caFile) ? { caFile } : {}) };
}

/** The file is read anew whenever it has changed: secrets are renewed while the provider runs. */
export function platformInFile(file: string, onFault: (error: unknown) => void): Platform {
  let seen = '';
  let facts: QrPlatformFacts | undefined;
  let client: EventsClient | undefined;

  function look(): void {
    const found = statSync(file, { throwIfNoEntry: false });
    const mark = found === undefined ? '' : `${found.mtimeMs} ${found.size} ${found.ino}`;
    if (mark === seen) return;
    seen = mark;
    client?.close();
    facts = undefined;
    client = undefined;
    if (found === undefined) return;
    try {
      const read = readFacts(file);
      client = clientOf(read);
      facts = read;
    } catch (error) {
      onFault(error);
    }
  }

  return {
    secrets() {
      look();
      return facts?.signingSecrets ?? [];
    },
    client() {
      look();
      return client;
    },
    close: () => client?.close(),
  };
}

/** For a run of checks: a secret of its own, and events to wherever a call says. */
export function platformOfCheck(directory: string): Platform {
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
