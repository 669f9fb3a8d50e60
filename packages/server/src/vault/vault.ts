// Encrypts card numbers and returns tokens for them; no other module gets a key.
import { createHmac } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  createGroupCommit,
  type Database,
  decryptBytes,
  isoTime,
  lruCacheOptions,
} from '../platform/index.ts';
import { createCardStore, insertCards, selectCards } from './card-sql.ts';
import { createUses } from './card-usage.ts';
import {
  isLegacy,
  keyIdOf,
  openEnvelope,
  type Place,
  sealEnvelope,
} from './envelope-encryption.ts';
import { createUpkeep, type UpkeepDeps } from './key-maintenance.ts';
import { type OpeningDeps, type OpenVault, openVault, orUnavailable } from './open-vault.ts';
import { type Access, createAccesses } from './pan-access-log.ts';
import { createKeyStore } from './vault-key-sql.ts';

export type Card = { pan: string /** YYMM */; expiry: string };

/**
 * The interface of the vault.
 *
 * `mark` returns the keyed hash of a card within an organisation (ADR 0012). `protect` returns the
 * token: the same for the same number and expiry, and never shared by two organisations.
 * `reveal` returns the card, for acquirer links only, or undefined if the token is unknown.
 */
export type Vault = {
  /**
   * The hash includes the organisation, so two organisations never have the same hash for a card.
   */
  mark(organizationId: string, card: Card): string;
  protect(organizationId: string, card: Card, mark: string): Promise<string>;
  /** Writes each access to the access log (ADR 0031). */
  reveal(organizationId: string, token: string, access: Access): Promise<Card | undefined>;
  /** Whether a card that was stored at that time has been deleted because it was unused. */
  wasDeleted(organizationId: string, token: string, keptAt: number): false | Promise<boolean>;
  /** A short keyed hash, which distinguishes two values and reveals neither. */
  digest(text: string): string;
  /**
   * Encrypts data that another module stores for days at most, such as the chip data of a sale.
   * Only the same `within` decrypts it.
   */
  seal(organizationId: string, within: string, data: Buffer): Promise<Buffer>;
  open(organizationId: string, within: string, sealed: Buffer): Promise<Buffer>;
  /**
   * Fetches the keys that every request needs.
   *
   * @throws Error if the keys do not match the database
   */
  openKeys(): Promise<void>;
  isOpen(): boolean;
  /** Stops the rounds over cards; another process continues them. */
  endRounds(): void;
  drain(): Promise<void>;
  /** Zeroes every key. */
  close(): Promise<void>;
};

export type VaultDeps = Omit<OpeningDeps, 'store'> &
  Omit<UpkeepDeps, 'keyStore' | 'cardStore' | 'accesses' | 'opened' | 'reopen'> & {
    database: Database;
  };

type Row = {
  organizationId: string;
  mark: string;
  token: string;
  sealed: Buffer;
  keyId: string;
};
type Kept = { token: string; usedAt: number };
type Standing = Kept & { isSettled: boolean };

const cachedTokensMax = 20_000;
/** A key may be retired between encryption and insert; this cannot happen twice in a row. */
const protectTries = 2;
/** Tokens are UUIDs; the vault treats other text as unknown without a query. */
const madeHere = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const cardWithin = (token: string) => `card|${token}`;

/**
 * Creates the vault; call `openKeys` before its first use.
 *
 * @example const token = await vault.protect(organizationId, card, vault.mark(organizationId, card));
 */
export function createVault(deps: VaultDeps): Vault {
  const { database, ids, clock, retentionDays } = deps;
  const keyStore = createKeyStore(database);
  const cardStore = createCardStore(database);
  const accesses = createAccesses(deps);
  const uses = createUses({ ...deps, retentionDays });
  const tokens = new LRUCache<string, Kept>(lruCacheOptions(cachedTokensMax));
  let isOpened: OpenVault | undefined;

  function opened(): OpenVault {
    if (isOpened === undefined) throw new Error('the vault is not open');
    return isOpened;
  }

  const keyedHash = (text: string) => createHmac('sha256', opened().indexKey).update(text);
  const inserts = createInserts(database, () => isoTime(clock.now()));
  const reads = createReads(database);

  function sealed(place: Place, text: Buffer): Promise<{ keyId: string; sealed: Buffer }> {
    const made = opened().dataKeys.withActive(place.organizationId, ({ keyId, bytes }) => ({
      keyId,
      sealed: sealEnvelope(bytes, keyId, place, text),
    }));
    return orUnavailable(Promise.resolve(made));
  }

  function openedBytes(place: Place, bytes: Buffer): Buffer | Promise<Buffer> {
    const { dataKeys } = opened();
    const opening = dataKeys.with(place.organizationId, keyIdOf(bytes), (key) =>
      openEnvelope(key.bytes, place, bytes),
    );
    return opening instanceof Promise ? orUnavailable(opening) : opening;
  }

  function openCard(organizationId: string, token: string, bytes: Buffer) {
    if (!isLegacy(bytes)) return openedBytes({ organizationId, within: cardWithin(token) }, bytes);
    const { legacyKey } = opened();
    if (legacyKey === undefined) throw new Error('no key at hand opens a card of before');
    return decryptBytes(legacyKey, bytes, `${organizationId}|${token}`);
  }

  /** Returns undefined if the key was retired before the insert; then no row exists. */
  async function kept(row: Row): Promise<Kept | undefined> {
    const first = await inserts.submit(row);
    if (first.isSettled) return first;
    // The statement does not see the row that it inserts, and another request may have inserted it
    // first. A second run reads the stored row.
    const second = await inserts.submit(row);
    return second.isSettled ? second : undefined;
  }

  async function keep(organizationId: string, card: Card, mark: string): Promise<string> {
    for (let tries = 0; tries < protectTries; tries += 1) {
      const token = ids.uuidV4();
      const place = { organizationId, within: cardWithin(token) };
      const text = Buffer.from(`${card.pan}|${card.expiry}`);
      const made = await sealed(place, text);
      text.fill(0);
      const standing = await kept({ organizationId, mark, token, ...made });
      const use = standing && { organizationId, token: standing.token };
      if (use !== undefined && (await uses.note(use, standing?.usedAt ?? 0))) {
        tokens.set(mark, { token: use.token, usedAt: clock.now() });
        return use.token;
      }
      opened().dataKeys.forgetActive(organizationId);
    }
    throw new Error('the vault gave no token');
  }

  const upkeep = createUpkeep({
    ...deps,
    keyStore,
    cardStore,
    accesses,
    opened,
    reopen: (organizationId, { token, sealed: bytes }) =>
      Promise.resolve(openCard(organizationId, token, bytes)),
  });

  return {
    mark: (organizationId, { pan, expiry }) =>
      keyedHash(`${organizationId}|${pan}|${expiry}`).digest('hex'),
    async protect(organizationId, card, mark) {
      const known = tokens.get(mark);
      // An old cache entry is checked in the database, because the card may have been deleted.
      if (known !== undefined && !uses.isStale(known.usedAt)) return known.token;
      return keep(organizationId, card, mark);
    },
    async reveal(organizationId, token, access) {
      if (!madeHere.test(token)) return undefined;
      const row = await reads.submit({ organizationId, token });
      if (row === undefined) {
        await accesses.note(organizationId, token, access, 'Unknown');
        return undefined;
      }
      let bytes: Buffer;
      try {
        bytes = await openCard(organizationId, token, row.sealed);
      } catch (error) {
        await accesses.note(organizationId, token, access, 'Failed');
        throw error;
      }
      const [pan, expiry] = bytes.toString('latin1').split('|');
      bytes.fill(0);
      await accesses.note(organizationId, token, access, 'Opened');
      await uses.note({ organizationId, token }, row.used_at.getTime());
      return pan === undefined || expiry === undefined ? undefined : { pan, expiry };
    },
    wasDeleted(organizationId, token, keptAt) {
      if (clock.now() - keptAt <= uses.retentionMs) return false;
      return cardStore.has(organizationId, token).then((stands) => !stands);
    },
    digest: (text) => keyedHash(`text|${text}`).digest('base64url').slice(0, 22),
    seal: async (organizationId, within, data) =>
      (await sealed({ organizationId, within: `data|${within}` }, data)).sealed,
    open: async (organizationId, within, bytes) =>
      openedBytes({ organizationId, within: `data|${within}` }, bytes),
    async openKeys() {
      isOpened ??= await openVault({ ...deps, store: keyStore });
      await upkeep.arm();
    },
    isOpen: () => isOpened !== undefined,
    async drain() {
      await inserts.drain();
      await uses.drain();
      await accesses.drain();
    },
    endRounds: upkeep.stop,
    async close() {
      upkeep.stop();
      isOpened?.dataKeys.close();
      await isOpened?.provider.close();
    },
  };
}

type Sealed = { sealed: Buffer; used_at: Date };

/** Capturing all payments decrypts hundreds of cards a second, so parallel reads share a query. */
function createReads(database: Database) {
  return createGroupCommit<{ organizationId: string; token: string }, Sealed | undefined>({
    name: 'vault-reads',
    key: ({ organizationId, token }) => organizationId + token,
    allowsSameKey: true,
    run: async (all) => {
      const found: (Sealed | undefined)[] = all.map(() => undefined);
      const rows = await database.hot<Sealed & { i: number }>(selectCards, [
        all.map(({ organizationId }) => organizationId),
        all.map(({ token }) => token),
      ]);
      for (const row of rows) found[Number(row.i) - 1] = row;
      return found;
    },
  });
}

function createInserts(database: Database, now: () => string) {
  return createGroupCommit<Row, Standing>({
    name: 'vault',
    key: (row) => row.mark,
    run: async (rows) => {
      const createdAt = now();
      const batch = rows.map((row) => ({
        organization_id: row.organizationId,
        token: row.token,
        fingerprint: row.mark,
        sealed: row.sealed.toString('hex'),
        key_id: row.keyId,
        created_at: createdAt,
      }));
      type Found = { fingerprint: string; token: string; used_at: Date };
      const found = await database.hot<Found>(insertCards, [JSON.stringify(batch)]);
      const standing = new Map(found.map((row) => [row.fingerprint, row]));
      return rows.map(({ mark, token }) => {
        const row = standing.get(mark);
        return row === undefined
          ? { token, usedAt: Date.parse(createdAt), isSettled: false }
          : { token: row.token, usedAt: row.used_at.getTime(), isSettled: true };
      });
    },
  });
}
