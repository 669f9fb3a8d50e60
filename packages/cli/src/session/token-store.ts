/** Keeps tokens until they expire, one file for each profile, so that a command costs no sign-in. */
import { createHash } from 'node:crypto';
import { mkdirSync, rmdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { membersOf } from '../http/problem-details.ts';
import { fail } from '../runtime/command-error.ts';
import type { World } from '../runtime/runtime-environment.ts';
import { configFolder, readPrivate, removePrivate, writePrivate } from './private-files.ts';
import type { Profile } from './profiles.ts';
import type { Granted } from './token-request.ts';

export type TokenStore = {
  read(): Granted | undefined;
  keep(granted: Granted): void;
  forget(): void;
  /** One process at a time: a refresh token is good once. */
  alone<Result>(work: () => Promise<Result>): Promise<Result>;
};

const lockWaitMs = 15_000;
const lockStaleMs = 60_000;
const lockLookMs = 50;

function isStale(lock: string, now: number): boolean {
  try {
    return now - statSync(lock).mtimeMs > lockStaleMs;
  } catch {
    return false;
  }
}

/** A new secret, address or application is another key: its old token is never taken for the new one. */
export function openTokenStore(world: Pick<World, 'env' | 'clock'>, profile: Profile): TokenStore {
  const { url, authUrl, userDomainId, clientId, secret } = profile;
  const key = createHash('sha256')
    .update(JSON.stringify([url, authUrl, userDomainId, clientId, secret]))
    .digest('base64url')
    .slice(0, 24);
  const file = join(configFolder(world), 'tokens', `${key}.json`);
  const lock = `${file}.lock`;

  async function takeLock(): Promise<void> {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const until = world.clock.now() + lockWaitMs;
    for (;;) {
      try {
        mkdirSync(lock);
        return;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      if (isStale(lock, world.clock.now())) rmdirSync(lock);
      else if (world.clock.now() > until)
        fail('fault', `Another sign-in never ended; remove ${lock}.`);
      else await pause(lockLookMs);
    }
  }

  return {
    read() {
      const text = readPrivate(file);
      if (text === undefined) return undefined;
      try {
        const { accessToken, expiresAt, refreshToken } = membersOf(JSON.parse(text));
        if (typeof accessToken !== 'string' || typeof expiresAt !== 'number') return undefined;
        return {
          accessToken,
          expiresAt,
          ...(typeof refreshToken === 'string' ? { refreshToken } : {}),
        };
      } catch {
        return undefined;
      }
    },
    keep: (granted) => writePrivate(file, JSON.stringify(granted)),
    forget: () => removePrivate(file),
    async alone(work) {
      await takeLock();
      try {
        return await work();
      } finally {
        rmdirSync(lock);
      }
    },
  };
}
