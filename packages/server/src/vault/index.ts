// Keeps card numbers sealed and hands out tokens in their place; nobody else sees a key.
import { createHmac, createSecretKey } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  type Clock,
  createGroupCommit,
  type Database,
  deriveKey,
  type Ids,
  isoTime,
  openSealed,
  seal,
} from '../platform/index.ts';

export { createHsm } from './hsm/create.ts';
export { type DemoKeyName, type DemoKeys, demoKeys } from './hsm/demo-keys.ts';
export {
  type DataRequest,
  type DukptScheme,
  type Hsm,
  HsmError,
  type HsmErrorCode,
  type KeyAlgorithm,
  type KeyFacts,
  type KeyImport,
  type KeyUsage,
  type MacAlgorithm,
  type MacRequest,
  type OpenableHsm,
  type OutPinFormat,
  type PinFormat,
  type PinTranslationRequest,
} from './hsm/types.ts';

export type Card = { pan: string /** YYMM */; expiry: string };

/**
 * The vault's door.
 *
 * `mark` gives the keyed hash that a card is known by within an organisation (ADR 0012), and
 * `protect` the token: the same number and expiry give the same one, and two organisations never
 * share it.
 * `reveal` gives the card back to the acquirer link alone, or undefined where the token is unknown.
 */
export type Vault = {
  /** The organisation is part of it: no mark stands for cards of two. */
  mark(organizationId: string, card: Card): string;
  protect(organizationId: string, card: Card, mark: string): Promise<string>;
  reveal(organizationId: string, token: string): Promise<Card | undefined>;
  /** A short keyed hash: tells two values apart and gives neither away. */
  digest(text: string): string;
  drain(): Promise<void>;
};

type Deps = { database: Database; ids: Ids; clock: Clock; masterKey: Buffer };
type Row = { organizationId: string; mark: string; token: string; sealed: Buffer };

const cachedTokensMax = 20_000;
/** Tokens are UUIDs; other text is unknown, and never reaches the database. */
const madeHere = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const insertCards = {
  name: 'vault-protect',
  text: `WITH r AS (
      SELECT * FROM jsonb_to_recordset($1::jsonb) AS r(organization_id uuid, token uuid,
        fingerprint text, sealed text, created_at timestamptz)
    ), made AS (
      INSERT INTO vault_cards (organization_id, token, fingerprint, sealed, created_at)
      SELECT organization_id, token, decode(fingerprint, 'hex'), decode(sealed, 'hex'), created_at
      FROM r ON CONFLICT (organization_id, fingerprint) DO NOTHING
    )
    SELECT encode(c.fingerprint, 'hex') AS fingerprint, c.organization_id, c.token
    FROM r JOIN vault_cards c ON c.organization_id = r.organization_id
      AND c.fingerprint = decode(r.fingerprint, 'hex')`,
};

const selectCard = {
  name: 'vault-reveal',
  text: 'SELECT sealed FROM vault_cards WHERE organization_id = $1 AND token = $2',
};

/**
 * Builds the vault over a database and a master key of 32 bytes from the settings.
 *
 * @example const token = await vault.protect(organizationId, card, vault.mark(organizationId, card));
 */
export function createVault({ database, ids, clock, masterKey }: Deps): Vault {
  const dataKey = deriveKey(masterKey, 'vault-data');
  // A key object once: made anew from bytes for each hash it costs six times the hash itself.
  const fingerprintKey = createSecretKey(deriveKey(masterKey, 'vault-fingerprint'));
  const tokens = new LRUCache<string, string>({ max: cachedTokensMax });
  const keyedHash = (text: string) => createHmac('sha256', fingerprintKey).update(text);

  const inserts = createGroupCommit<Row, string | undefined>({
    name: 'vault',
    key: (row) => row.mark,
    run: async (rows) => {
      const createdAt = isoTime(clock.now());
      const batch = rows.map((row) => ({
        organization_id: row.organizationId,
        token: row.token,
        fingerprint: row.mark,
        sealed: row.sealed.toString('hex'),
        created_at: createdAt,
      }));
      const found = new Map<string, string>();
      for (const row of await database.hot(insertCards, [JSON.stringify(batch)])) {
        const { fingerprint, token } = row as Record<string, string>;
        found.set(String(fingerprint), String(token));
      }
      return batch.map(
        (row, index) =>
          // Our own rows are not visible to the statement that made them: they keep their own token.
          found.get(row.fingerprint) ?? rows[index]?.token,
      );
    },
  });

  async function settledToken(row: Row): Promise<string> {
    const first = await inserts.submit(row);
    if (first === undefined) throw new Error('the vault gave no token');
    if (first !== row.token) return first;
    // Another process or a twin in the same batch may have won the insert: read what stands.
    return (await inserts.submit(row)) ?? first;
  }

  return {
    mark: (organizationId, { pan, expiry }) =>
      keyedHash(`${organizationId}|${pan}|${expiry}`).digest('hex'),
    async protect(organizationId, { pan, expiry }, mark) {
      const known = tokens.get(mark);
      if (known !== undefined) return known;
      const token = ids.uuidV4();
      const sealed = seal(dataKey, Buffer.from(`${pan}|${expiry}`), `${organizationId}|${token}`);
      const standing = await settledToken({ organizationId, mark, token, sealed });
      tokens.set(mark, standing);
      return standing;
    },
    async reveal(organizationId, token) {
      if (!madeHere.test(token)) return undefined;
      const [row] = await database.hot(selectCard, [organizationId, token]);
      if (row === undefined) return undefined;
      const sealed = (row as { sealed: Buffer }).sealed;
      const [pan, expiry] = openSealed(dataKey, sealed, `${organizationId}|${token}`)
        .toString()
        .split('|');
      return pan === undefined || expiry === undefined ? undefined : { pan, expiry };
    },
    digest: (text) => keyedHash(`text|${text}`).digest('base64url').slice(0, 22),
    drain: () => inserts.drain(),
  };
}
