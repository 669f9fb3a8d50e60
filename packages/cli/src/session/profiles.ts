/** Profiles: saved sign-ins with the platform and the application, in a file that only its owner can read. */

import { join } from 'node:path';
import { defined } from '@switchyard/contract';
import { type Members, membersOf } from '../http/problem-details.ts';
import { fail } from '../runtime/command-error.ts';
import type { RuntimeEnvironment } from '../runtime/runtime-environment.ts';
import { configFolder, readInputFile, readPrivateFile, writePrivateFile } from './private-files.ts';

/** Where the client secret comes from. */
export type ClientSecretSource =
  | { readonly kind: 'Stored'; readonly value: string }
  | { readonly kind: 'File'; readonly file: string }
  | { readonly kind: 'Demo'; readonly file: string; readonly application: string }
  /** A user signed in: there is a refresh token in place of a client secret. */
  | { readonly kind: 'Person' };

export type Profile = {
  readonly url: string;
  readonly authUrl: string;
  readonly userDomainId: string;
  readonly clientId: string;
  readonly caFile?: string;
  readonly secret: ClientSecretSource;
};

type ProfilesFile = { current?: string; profiles: Record<string, Profile> };

export type Profiles = {
  names(): string[];
  current(): string | undefined;
  find(name: string): Profile | undefined;
  /** Saves the profile and makes it the current one. */
  save(name: string, profile: Profile): void;
  select(name: string): void;
  remove(name: string): boolean;
};

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export function requireProfileName(name: string): string {
  return namePattern.test(name)
    ? name
    : fail(
        'usage',
        `“${name}” is not a valid profile name. Use up to 64 letters, digits, dots, hyphens and underscores.`,
      );
}

/** @example const profiles = openProfiles(environment); */
export function openProfiles(environment: Pick<RuntimeEnvironment, 'env'>): Profiles {
  const file = join(configFolder(environment), 'profiles.json');

  function read(): ProfilesFile {
    const text = readPrivateFile(file);
    if (text === undefined) return { profiles: {} };
    try {
      const saved = membersOf(JSON.parse(text));
      const { current } = saved;
      const profiles = { ...membersOf(saved['profiles']) } as Record<string, Profile>;
      return typeof current === 'string' ? { current, profiles } : { profiles };
    } catch {
      return fail('fault', `${file} is damaged. Remove it and sign in again: switchyard login`);
    }
  }
  const write = (saved: ProfilesFile) =>
    writePrivateFile(file, `${JSON.stringify(saved, undefined, 2)}\n`);

  return {
    names: () => Object.keys(read().profiles).sort(),
    current: () => read().current,
    find: (name) => read().profiles[name],
    save(name, profile) {
      const saved = read();
      write({ current: name, profiles: { ...saved.profiles, [name]: profile } });
    },
    select: (name) => write({ ...read(), current: name }),
    remove(name) {
      const { current, profiles } = read();
      if (profiles[name] === undefined) return false;
      delete profiles[name];
      write(current === undefined || current === name ? { profiles } : { current, profiles });
      return true;
    },
  };
}

/** The profile of one application of demo.json. */
export function demoProfile(file: string, application: string): Profile {
  const facts = readDemoFile(file);
  const entry = membersOf(membersOf(facts['applications'])[application]);
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  const url = text(facts['baseUrl']);
  const userDomainId = text(facts['userDomainId']);
  const clientId = text(entry['clientId']);
  if (url === undefined || userDomainId === undefined)
    return fail(
      'usage',
      `${file} has no address or user domain of a platform. Start the demo again: npm start`,
    );
  if (clientId === undefined || entry['clientSecret'] === undefined) {
    const names = Object.entries(membersOf(facts['applications']))
      .filter(([, one]) => membersOf(one)['clientSecret'] !== undefined)
      .map(([name]) => name);
    return fail(
      'usage',
      `The demo has no application “${application}” with a secret.`,
      `It has: ${names.join(', ')}.`,
    );
  }
  const caFile = text(facts['caFile']);
  return {
    url,
    authUrl: text(facts['authUrl']) ?? url,
    userDomainId,
    clientId,
    ...defined({ caFile }),
    secret: { kind: 'Demo', file, application },
  };
}

/** @throws CommandError usage, if the file does not exist or cannot be read */
export function readDemoFile(file: string): Readonly<Record<string, unknown>> {
  try {
    return membersOf(JSON.parse(readInputFile(file)));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return fail('usage', `${file} does not contain valid JSON.`);
  }
}

/** A text member of the file, or of an object in it. @throws CommandError usage */
export function requireDemoText(source: Members, name: string, file: string): string {
  const value = source[name];
  return typeof value === 'string'
    ? value
    : fail('usage', `${file} has no text member “${name}”. Start the demo again: npm start`);
}

/** The client secret; undefined if a user signed in. */
export function readClientSecret({ secret }: Profile): string | undefined {
  switch (secret.kind) {
    case 'Stored':
      return secret.value;
    case 'File':
      return readInputFile(secret.file).trim();
    case 'Demo': {
      const { application, file } = secret;
      const entry = membersOf(membersOf(readDemoFile(file)['applications'])[application])[
        'clientSecret'
      ];
      return typeof entry === 'string'
        ? entry
        : fail(
            'notSignedIn',
            `${file} no longer has the secret of ${application}. Sign in again: switchyard login --demo`,
          );
    }
    case 'Person':
      return undefined;
  }
}
