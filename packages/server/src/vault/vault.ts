// Encrypts card numbers and returns tokens for them; no other module gets a key.
import { createHmac } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  createGroupCommit,
  type Database,
  decryptBytes,
  isLowerCaseUuid,
  isoTime,
  lruCacheOptions,
  type Metrics,
  type Span,
} from '../platform/index.ts';
import { createCardStore, insertCards, selectCards } from './card-sql.ts';
import { createCardUsage } from './card-usage.ts';
import { createUnwrapCounter } from './data-keys.ts';
import { createKeyMaintenance, type KeyMaintenanceDeps } from './key-maintenance.ts';
import {
  type OpenedVault,
  type OpenVaultDeps,
  openVault,
  translateKeyFault,
} from './open-vault.ts';
import { createPanAccessLog, type PanAccess } from './pan-access-log.ts';
import {
  decryptRecord,
  type EncryptionContext,
  encryptRecord,
  isLegacyFormat,
  readKeyId,
} from './record-encryption.ts';
import { createVaultKeyStore } from './vault-key-sql.ts';

export type Card = { pan: string /** YYMM */; expiry: string };

/**
 * The interface of the vault.
 *
 * `fingerprintCard` returns the keyed hash of a card within an organisation (ADR 0012). `tokenizeCard` returns the
 * token: the same for the same number and expiry, and never shared by two organisations.
 * `detokenizeCard` returns the card, for acquirer links only, or undefined if the token is unknown.
 */
export type Vault = {
  /**
   * The hash includes the organisation, so two organisations never have the same hash for a card.
   */
  fingerprintCard(organizationId: string, card: Card): string;
  tokenizeCard(
    organizationId: string,
    card: Card,
    fingerprint: string,
    span?: Span,
  ): Promise<string>;
  /** Writes each access to the access log (ADR 0012). */
  detokenizeCard(
    organizationId: string,
    token: string,
    access: PanAccess,
  ): Promise<Card | undefined>;
  /** Whether a card that was stored at that time has been deleted because it was unused. */
  wasDeleted(organizationId: string, token: string, storedAt: number): false | Promise<boolean>;
  /** A short keyed hash, which distinguishes two values and reveals neither. */
  computeDigest(text: string): string;
  /**
   * Encrypts data that another module stores for days at most, such as the chip data of a sale.
   * Only the same `recordName` decrypts it.
   */
  encryptData(organizationId: string, recordName: string, data: Buffer): Promise<Buffer>;
  decryptData(organizationId: string, recordName: string, encrypted: Buffer): Promise<Buffer>;
  /**
   * Fetches the keys that every request needs.
   *
   * @throws Error if the keys do not match the database
   */
  openKeys(): Promise<void>;
  hasKeys(): boolean;
  /** Stops the rounds over cards; another process continues them. */
  stopReEncryption(): void;
  drain(): Promise<void>;
  /** Zeroes every key. */
  close(): Promise<void>;
};

export type VaultDeps = Omit<OpenVaultDeps, 'store' | 'unwraps'> &
  Omit<
    KeyMaintenanceDeps,
    'keyStore' | 'cardStore' | 'panAccessLog' | 'getOpenedVault' | 'decryptCard' | 'unwraps'
  > & {
    database: Database;
    metrics: Metrics;
  };

type Row = {
  organizationId: string;
  fingerprint: string;
  token: string;
  sealed: Buffer;
  keyId: string;
};
type CachedToken = { token: string; usedAt: number };
type StoredToken = CachedToken & { isStored: boolean };

const cachedTokensMax = 20_000;
/** A key may be retired between encryption and insert; this cannot happen twice in a row. */
const tokenizeAttempts = 2;
/** Tokens are UUIDs; the vault treats other text as unknown without a query. */

const cardRecordName = (token: string) => `card|${token}`;

/**
 * Creates the vault; call `openKeys` before its first use.
 *
 * @example const token = await vault.tokenizeCard(organizationId, card, vault.fingerprintCard(organizationId, card));
 */
export function createVault(deps: VaultDeps): Vault {
  const { database, ids, clock, retentionDays } = deps;
  const keyStore = createVaultKeyStore(database);
  const cardStore = createCardStore(database);
  const unwraps = createUnwrapCounter(deps.metrics);
  const panAccessLog = createPanAccessLog(deps);
  const cardUsage = createCardUsage({ ...deps, retentionDays });
  const tokens = new LRUCache<string, CachedToken>(lruCacheOptions(cachedTokensMax));
  let openedVault: OpenedVault | undefined;

  function getOpenedVault(): OpenedVault {
    if (openedVault === undefined) throw new Error('the keys of the vault are not loaded');
    return openedVault;
  }

  const keyedHash = (text: string) => createHmac('sha256', getOpenedVault().indexKey).update(text);
  const cardWriter = createCardWriter(database, () => isoTime(clock.now()));
  const cardReader = createCardReader(database);

  function encrypt(
    context: EncryptionContext,
    text: Buffer,
  ): Promise<{ keyId: string; sealed: Buffer }> {
    const encrypted = getOpenedVault().dataKeys.withActiveKey(
      context.organizationId,
      ({ keyId, bytes }) => ({
        keyId,
        sealed: encryptRecord(bytes, keyId, context, text),
      }),
    );
    return translateKeyFault(Promise.resolve(encrypted));
  }

  function decrypt(context: EncryptionContext, bytes: Buffer): Buffer | Promise<Buffer> {
    const { dataKeys } = getOpenedVault();
    const decrypted = dataKeys.withKey(context.organizationId, readKeyId(bytes), (key) =>
      decryptRecord(key.bytes, context, bytes),
    );
    return decrypted instanceof Promise ? translateKeyFault(decrypted) : decrypted;
  }

  function decryptCard(organizationId: string, token: string, bytes: Buffer) {
    if (!isLegacyFormat(bytes))
      return decrypt({ organizationId, recordName: cardRecordName(token) }, bytes);
    const { legacyKey } = getOpenedVault();
    if (legacyKey === undefined) throw new Error('no key can decrypt a card of an older version');
    return decryptBytes(legacyKey, bytes, `${organizationId}|${token}`);
  }

  /** Returns undefined if the key was retired before the insert; then no row exists. */
  async function insertCard(row: Row, span: Span | undefined): Promise<CachedToken | undefined> {
    const first = await cardWriter.submit(row, span);
    if (first.isStored) return first;
    // The statement does not see the row that it inserts, and another request may have inserted it
    // first. A second run reads the stored row.
    const second = await cardWriter.submit(row, span);
    return second.isStored ? second : undefined;
  }

  async function storeCard(
    organizationId: string,
    card: Card,
    fingerprint: string,
    span: Span | undefined,
  ): Promise<string> {
    for (let attempt = 0; attempt < tokenizeAttempts; attempt += 1) {
      const token = ids.uuidV4();
      const context = { organizationId, recordName: cardRecordName(token) };
      const text = Buffer.from(`${card.pan}|${card.expiry}`);
      const encrypted = await encrypt(context, text);
      text.fill(0);
      const stored = await insertCard({ organizationId, fingerprint, token, ...encrypted }, span);
      const use = stored && { organizationId, token: stored.token };
      if (use !== undefined && (await cardUsage.recordUse(use, stored?.usedAt ?? 0))) {
        tokens.set(fingerprint, { token: use.token, usedAt: clock.now() });
        return use.token;
      }
      getOpenedVault().dataKeys.clearActive(organizationId);
    }
    throw new Error('the vault could not create a token');
  }

  const keyMaintenance = createKeyMaintenance({
    ...deps,
    keyStore,
    cardStore,
    panAccessLog,
    getOpenedVault,
    unwraps,
    decryptCard: (organizationId, { token, sealed: bytes }) =>
      Promise.resolve(decryptCard(organizationId, token, bytes)),
  });

  return {
    fingerprintCard: (organizationId, { pan, expiry }) =>
      keyedHash(`${organizationId}|${pan}|${expiry}`).digest('hex'),
    async tokenizeCard(organizationId, card, fingerprint, span) {
      const cached = tokens.get(fingerprint);
      // An old cache entry is checked in the database, because the card may have been deleted.
      if (cached !== undefined && !cardUsage.isUseOutdated(cached.usedAt)) return cached.token;
      return storeCard(organizationId, card, fingerprint, span);
    },
    async detokenizeCard(organizationId, token, access) {
      if (!isLowerCaseUuid(token)) return undefined;
      const row = await cardReader.submit({ organizationId, token });
      if (row === undefined) {
        await panAccessLog.record(organizationId, token, access, 'Unknown');
        return undefined;
      }
      let bytes: Buffer;
      try {
        bytes = await decryptCard(organizationId, token, row.sealed);
      } catch (error) {
        await panAccessLog.record(organizationId, token, access, 'Failed');
        throw error;
      }
      const [pan, expiry] = bytes.toString('latin1').split('|');
      bytes.fill(0);
      await panAccessLog.record(organizationId, token, access, 'Opened');
      await cardUsage.recordUse({ organizationId, token }, row.used_at.getTime());
      return pan === undefined || expiry === undefined ? undefined : { pan, expiry };
    },
    wasDeleted(organizationId, token, storedAt) {
      if (clock.now() - storedAt <= cardUsage.retentionMs) return false;
      return cardStore.exists(organizationId, token).then((exists) => !exists);
    },
    computeDigest: (text) => keyedHash(`text|${text}`).digest('base64url').slice(0, 22),
    encryptData: async (organizationId, recordName, data) =>
      (await encrypt({ organizationId, recordName: `data|${recordName}` }, data)).sealed,
    decryptData: async (organizationId, recordName, bytes) =>
      decrypt({ organizationId, recordName: `data|${recordName}` }, bytes),
    async openKeys() {
      openedVault ??= await openVault({ ...deps, store: keyStore, unwraps });
      await keyMaintenance.enqueueMaintenance();
    },
    hasKeys: () => openedVault !== undefined,
    async drain() {
      await cardWriter.drain();
      await cardUsage.drain();
      await panAccessLog.drain();
    },
    stopReEncryption: keyMaintenance.stop,
    async close() {
      keyMaintenance.stop();
      openedVault?.dataKeys.close();
      await openedVault?.provider.close();
    },
  };
}

type EncryptedCardRow = { sealed: Buffer; used_at: Date };

/** Capturing all payments decrypts hundreds of cards a second, so parallel reads share a query. */
function createCardReader(database: Database) {
  return createGroupCommit<{ organizationId: string; token: string }, EncryptedCardRow | undefined>(
    {
      name: 'vault-reads',
      key: ({ organizationId, token }) => organizationId + token,
      allowsSameKey: true,
      run: async (all) => {
        const orderedRows: (EncryptedCardRow | undefined)[] = all.map(() => undefined);
        const rows = await database.hot<EncryptedCardRow & { i: number }>(selectCards, [
          all.map(({ organizationId }) => organizationId),
          all.map(({ token }) => token),
        ]);
        for (const row of rows) orderedRows[Number(row.i) - 1] = row;
        return orderedRows;
      },
    },
  );
}

function createCardWriter(database: Database, now: () => string) {
  return createGroupCommit<Row, StoredToken>({
    name: 'vault',
    key: (row) => row.fingerprint,
    run: async (rows) => {
      const createdAt = now();
      const batch = rows.map((row) => ({
        organization_id: row.organizationId,
        token: row.token,
        fingerprint: row.fingerprint,
        sealed: row.sealed.toString('hex'),
        key_id: row.keyId,
        created_at: createdAt,
      }));
      type StoredRow = { fingerprint: string; token: string; used_at: Date };
      const storedRows = await database.hot<StoredRow>(insertCards, [JSON.stringify(batch)]);
      const rowsByFingerprint = new Map(storedRows.map((row) => [row.fingerprint, row]));
      return rows.map(({ fingerprint, token }) => {
        const row = rowsByFingerprint.get(fingerprint);
        return row === undefined
          ? { token, usedAt: Date.parse(createdAt), isStored: false }
          : { token: row.token, usedAt: row.used_at.getTime(), isStored: true };
      });
    },
  });
}
