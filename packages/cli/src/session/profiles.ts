/** Profiles: which platform, as whom. Kept in the configuration folder of the user, for him alone. */

import { join } from 'node:path';
import { defined } from '@switchyard/contract';
import { membersOf } from '../http/problem-details.ts';
import { fail } from '../runtime/command-error.ts';
import type { World } from '../runtime/runtime-environment.ts';
import { configFolder, readNamed, readPrivate, writePrivate } from './private-files.ts';

/** Where the secret of the application is. */
export type Secret =
  | { readonly kind: 'Stored'; readonly value: string }
  | { readonly kind: 'File'; readonly file: string }
  | { readonly kind: 'Demo'; readonly file: string; readonly application: string }
  /** Somebody signed in: the refresh token lies with the other tokens. */
  | { readonly kind: 'Person' };

export type Profile = {
  readonly url: string;
  readonly authUrl: string;
  readonly userDomainId: string;
  readonly clientId: string;
  readonly caFile?: string;
  readonly secret: Secret;
};

type Book = { current?: string; profiles: Record<string, Profile> };

export type Profiles = {
  names(): string[];
  current(): string | undefined;
  find(name: string): Profile | undefined;
  /** Keeps it, and makes it the current one. */
  keep(name: string, profile: Profile): void;
  use(name: string): void;
  remove(name: string): boolean;
};

const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export function demandProfileName(name: string): string {
  return nameForm.test(name) ? name : fail('usage', `“${name}” is no name for a profile.`);
}

/** @example const profiles = openProfiles(world); */
export function openProfiles(world: Pick<World, 'env'>): Profiles {
  const file = join(configFolder(world), 'profiles.json');

  function read(): Book {
    const text = readPrivate(file);
    if (text === undefined) return { profiles: {} };
    try {
      const book = membersOf(JSON.parse(text));
      const { current } = book;
      const profiles = { ...membersOf(book['profiles']) } as Record<string, Profile>;
      return typeof current === 'string' ? { current, profiles } : { profiles };
    } catch {
      return fail(
        'fault',
        `${file} is no longer what was written there; remove it and sign in again.`,
      );
    }
  }
  const write = (book: Book) => writePrivate(file, `${JSON.stringify(book, undefined, 2)}\n`);

  return {
    names: () => Object.keys(read().profiles).sort(),
    current: () => read().current,
    find: (name) => read().profiles[name],
    keep(name, profile) {
      const book = read();
      write({ current: name, profiles: { ...book.profiles, [name]: profile } });
    },
    use: (name) => write({ ...read(), current: name }),
    remove(name) {
      const { current, profiles } = read();
      if (profiles[name] === undefined) return false;
      delete profiles[name];
      write(current === undefined || current === name ? { profiles } : { current, profiles });
      return true;
    },
  };
}

/** What demo.json says of one application, as a profile. */
export function demoProfile(file: string, application: string): Profile {
  const facts = demoFacts(file);
  const found = membersOf(membersOf(facts['applications'])[application]);
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  const url = text(facts['baseUrl']);
  const userDomainId = text(facts['userDomainId']);
  const clientId = text(found['clientId']);
  if (url === undefined || userDomainId === undefined)
    return fail('usage', `${file} names no platform.`);
  if (clientId === undefined || found['clientSecret'] === undefined) {
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

/** What the demo tells of itself. */
export function demoFacts(file: string): Readonly<Record<string, unknown>> {
  try {
    return membersOf(JSON.parse(readNamed(file)));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return fail('usage', `${file} is no JSON.`);
  }
}

/** The secret itself; undefined where a person signed in. */
export function secretOf({ secret }: Profile): string | undefined {
  switch (secret.kind) {
    case 'Stored':
      return secret.value;
    case 'File':
      return readNamed(secret.file).trim();
    case 'Demo': {
      const { application, file } = secret;
      const found = membersOf(membersOf(demoFacts(file)['applications'])[application])[
        'clientSecret'
      ];
      return typeof found === 'string'
        ? found
        : fail('notSignedIn', `${file} has no secret of ${application} any more.`);
    }
    case 'Person':
      return undefined;
  }
}
