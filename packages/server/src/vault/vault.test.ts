import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import {
  openTestVault,
  openVaultDatabase,
  type TestVault,
} from '../../test/support/hsm/test-vault.ts';
import { movableClock } from '../../test/support/movable-clock.ts';
import {
  createMetrics,
  type Database,
  deriveKey,
  encryptBytes,
  SettingsError,
  systemIdGenerator,
} from '../platform/index.ts';
import {
  chainKeyProviders,
  createLocalKeyProvider,
  type KeyProvider,
  KeyProviderError,
} from './key-providers/open-key-provider.ts';
import { listPanAccesses } from './pan-access-log.ts';

const dayMs = 86_400_000;
const access = { purpose: 'Refund', actor: 'till-1' };
const cardOf = (number: number) => ({
  pan: `400000${String(number).padStart(10, '0')}`,
  expiry: '3012',
});

type CardRow = { token: string; key_id: string | null; sealed: Buffer };

describe('the vault', () => {
  const master = randomBytes(32);
  let database: Database;
  let testVault: TestVault;
  const openedVaults: TestVault[] = [];

  async function open(options: Partial<Parameters<typeof openTestVault>[0]> = {}) {
    const opened = await openTestVault({
      database,
      provider: createLocalKeyProvider(master),
      ...options,
    });
    openedVaults.push(opened);
    return opened;
  }

  before(async () => {
    database = await openVaultDatabase();
    testVault = await open();
  });
  after(async () => {
    for (const each of openedVaults) await each.close();
    await database.close();
  });

  const protect = ({ vault }: TestVault, organizationId: string, number: number) =>
    vault.tokenizeCard(
      organizationId,
      cardOf(number),
      vault.fingerprintCard(organizationId, cardOf(number)),
    );
  const cardsOf = (organizationId: string) =>
    database.query<CardRow>(
      'SELECT token, key_id, sealed FROM vault_cards WHERE organization_id = $1 ORDER BY token',
      [organizationId],
    );
  const keysOf = (organizationId: string) =>
    database.query<{ key_id: string; state: string; wrapped: Buffer | null; wrapped_by: string }>(
      `SELECT key_id, state, wrapped, wrapped_by FROM vault_keys WHERE organization_id = $1
      ORDER BY created_at, key_id`,
      [organizationId],
    );
  const replaceKey = ({ clock }: TestVault, organizationId: string) =>
    database.query(
      `UPDATE vault_keys SET state = 'Retiring', changed_at = $2
      WHERE organization_id = $1 AND state = 'Active'`,
      [organizationId, new Date(clock.now())],
    );

  // Spec: ACQ-15
  test('encrypts a card under the key of its organisation and returns the same token for the same card', async () => {
    const organizationId = systemIdGenerator.uuid();
    const token = await protect(testVault, organizationId, 1);
    assert.equal(await protect(testVault, organizationId, 1), token);
    assert.notEqual(await protect(testVault, organizationId, 2), token);
    const [key, ...others] = await keysOf(organizationId);
    assert.deepEqual(others, []);
    const rows = await cardsOf(organizationId);
    assert.deepEqual(
      rows.map(({ key_id }) => key_id),
      [key?.key_id, key?.key_id],
    );
    assert.ok(rows.every(({ sealed }) => !sealed.includes('400000')));
    assert.deepEqual(
      await testVault.vault.detokenizeCard(organizationId, token, access),
      cardOf(1),
    );
    const otherOrganizationId = systemIdGenerator.uuid();
    assert.equal(
      await testVault.vault.detokenizeCard(otherOrganizationId, token, access),
      undefined,
    );
    assert.notEqual(
      testVault.vault.fingerprintCard(otherOrganizationId, cardOf(1)),
      testVault.vault.fingerprintCard(organizationId, cardOf(1)),
    );
    assert.equal(
      await testVault.vault.detokenizeCard(organizationId, 'no-token', access),
      undefined,
    );
  });

  // Spec: ACQ-17
  test('logs each access to a card number with its actor, purpose and result', async () => {
    const organizationId = systemIdGenerator.uuid();
    const token = await protect(testVault, organizationId, 3);
    const subjectId = systemIdGenerator.uuid();
    await testVault.vault.detokenizeCard(organizationId, token, { ...access, subjectId });
    const unknown = systemIdGenerator.uuidV4();
    await testVault.vault.detokenizeCard(organizationId, unknown, access);
    await testVault.vault.drain();
    const now = Date.now();
    const lines = await listPanAccesses(database, {
      organizationId,
      from: now - dayMs,
      to: now + dayMs,
      limit: 10,
    });
    assert.deepEqual(
      lines.map(({ at: _at, ...line }) => line),
      [
        { ...access, subjectId, token, result: 'Opened' },
        { ...access, token: unknown, result: 'Unknown' },
      ],
    );
    const later = { organizationId, from: now + dayMs, to: now + 2 * dayMs, limit: 10 };
    assert.deepEqual(await listPanAccesses(database, later), []);
  });

  test('two processes make one key of a new organisation', async () => {
    const other = await open();
    const organizationId = systemIdGenerator.uuid();
    const numbers = Array.from({ length: 40 }, (_, number) => number);
    const tokens = await Promise.all(
      numbers.map((number) =>
        protect(number % 2 === 0 ? testVault : other, organizationId, number),
      ),
    );
    assert.equal((await keysOf(organizationId)).length, 1);
    for (const [number, token] of tokens.entries()) {
      const reader = number % 2 === 0 ? other : testVault;
      assert.deepEqual(
        await reader.vault.detokenizeCard(organizationId, token, access),
        cardOf(number),
      );
    }
  });

  test('the same card from two processes at once has one token', async () => {
    const other = await open();
    const organizationId = systemIdGenerator.uuid();
    const tokens = await Promise.all(
      [testVault, other].map((each) => protect(each, organizationId, 7)),
    );
    assert.equal(tokens[0], tokens[1]);
    assert.equal((await cardsOf(organizationId)).length, 1);
  });

  test('encrypts data for other modules and decrypts it only for the same record and organisation', async () => {
    const organizationId = systemIdGenerator.uuid();
    const { vault } = testVault;
    const sealed = await vault.encryptData(organizationId, 'sale-1', Buffer.from('9F2608AABB'));
    assert.equal(
      (await vault.decryptData(organizationId, 'sale-1', sealed)).toString(),
      '9F2608AABB',
    );
    await assert.rejects(
      vault.decryptData(organizationId, 'sale-2', sealed),
      /record does not decrypt/,
    );
    await assert.rejects(vault.decryptData(systemIdGenerator.uuid(), 'sale-1', sealed));
  });

  test('refuses a key that was exchanged, and a card that was moved', async () => {
    const [ownId, otherId] = [systemIdGenerator.uuid(), systemIdGenerator.uuid()];
    const token = await protect(testVault, ownId, 1);
    const [second] = await Promise.all([
      protect(testVault, ownId, 2),
      protect(testVault, otherId, 1),
    ]);
    const [ownKey] = await keysOf(ownId);
    const [foreign] = await keysOf(otherId);
    const exchange = (column: string, value: unknown) =>
      database.query(`UPDATE vault_keys SET ${column} = $2 WHERE key_id = $1`, [
        ownKey?.key_id,
        value,
      ]);
    const refused = async () => {
      const fresh = await open();
      await assert.rejects(
        fresh.vault.detokenizeCard(ownId, token, access),
        (error) => error instanceof ProblemError && error.code === 'card_keys_unavailable',
      );
    };
    await exchange('wrapped', foreign?.wrapped);
    await refused();
    await exchange('wrapped', ownKey?.wrapped);
    const [{ check_value: check } = {}] = await database.query<{ check_value: string }>(
      'SELECT check_value FROM vault_keys WHERE key_id = $1',
      [ownKey?.key_id],
    );
    await exchange('check_value', '00000000');
    await refused();
    await exchange('check_value', check);
    const fresh = await open();
    assert.deepEqual(await fresh.vault.detokenizeCard(ownId, token, access), cardOf(1));
    await database.query(
      `UPDATE vault_cards SET sealed = (SELECT sealed FROM vault_cards WHERE token = $2)
      WHERE token = $1`,
      [token, second],
    );
    await assert.rejects(
      fresh.vault.detokenizeCard(ownId, token, access),
      /record does not decrypt/,
    );
  });

  test('a database is of no use without the key above its keys', async () => {
    await assert.rejects(
      open({ provider: createLocalKeyProvider(randomBytes(32)) }),
      (error) =>
        error instanceof SettingsError &&
        /SWITCHYARD_VAULT_KEY,.* uses the key local:.*SWITCHYARD_VAULT_KEY_PREVIOUS/.test(
          error.message,
        ),
    );
  });

  test('works for several minutes without its key provider, and then refuses requests', async () => {
    let answers = true;
    const whole = createLocalKeyProvider(master);
    const provider: KeyProvider = {
      ...whole,
      unwrap: (wrapped, identity) => {
        if (!answers) throw new KeyProviderError('Unavailable', 'no answer');
        return whole.unwrap(wrapped, identity);
      },
    };
    const clock = movableClock(Date.now());
    const { vault } = await open({ provider, clock });
    const organizationId = systemIdGenerator.uuid();
    const token = await vault.tokenizeCard(
      organizationId,
      cardOf(1),
      vault.fingerprintCard(organizationId, cardOf(1)),
    );
    answers = false;
    clock.advance(250_000);
    assert.deepEqual(await vault.detokenizeCard(organizationId, token, access), cardOf(1));
    clock.advance(100_000);
    const isUnavailable = (error: unknown) =>
      error instanceof ProblemError && error.code === 'card_keys_unavailable';
    await assert.rejects(vault.detokenizeCard(organizationId, token, access), isUnavailable);
    const otherOrganizationId = systemIdGenerator.uuid();
    const fingerprint = vault.fingerprintCard(otherOrganizationId, cardOf(1));
    await assert.rejects(
      vault.tokenizeCard(otherOrganizationId, cardOf(1), fingerprint),
      isUnavailable,
    );
    assert.deepEqual(await cardsOf(otherOrganizationId), []);
    answers = true;
    assert.deepEqual(await vault.detokenizeCard(organizationId, token, access), cardOf(1));
  });

  describe('rotation', () => {
    // Spec: ACQ-16
    test('re-encrypts all cards under the new key, and the cards stay readable during the rotation', async () => {
      const ownVault = await open();
      const organizationId = systemIdGenerator.uuid();
      const numbers = Array.from({ length: 30 }, (_, number) => number);
      const tokens = await Promise.all(
        numbers.map((number) => protect(ownVault, organizationId, number)),
      );
      const [old] = await keysOf(organizationId);
      ownVault.clock.advance(1000);
      await replaceKey(ownVault, organizationId);
      assert.deepEqual(
        await ownVault.vault.detokenizeCard(organizationId, tokens[0] ?? '', access),
        cardOf(0),
      );
      // A process that does not know the rotation encrypts under the old key for minutes.
      await protect(ownVault, organizationId, 1000);
      ownVault.clock.advance(1000);
      const later = await ownVault.runRound(organizationId);
      assert.ok(later && later.retryAt > ownVault.clock.now(), 'another round proves it');
      const [, current] = await keysOf(organizationId);
      assert.equal(current?.state, 'Active');
      const rows = await cardsOf(organizationId);
      assert.equal(rows.length, 31);
      assert.ok(rows.every(({ key_id }) => key_id === current?.key_id));
      const after = { keys: [], resealed: 31 };
      assert.deepEqual(
        ownVault.auditEntries.map(({ action, after: deletionEntry }) => [action, deletionEntry]),
        [['vault.keysChanged', after]],
      );
      for (const [number, token] of tokens.entries()) {
        assert.deepEqual(
          await ownVault.vault.detokenizeCard(organizationId, token, access),
          cardOf(number),
        );
      }

      // Nothing is left to do: the next round changes no row.
      ownVault.clock.advance(700_000);
      assert.equal(await ownVault.runRound(organizationId), undefined);
      assert.deepEqual(await cardsOf(organizationId), rows);
      assert.equal((await keysOf(organizationId))[0]?.state, 'Retired');
      ownVault.clock.advance(31 * dayMs);
      await ownVault.runRound(organizationId);
      const [destroyed] = await keysOf(organizationId);
      assert.deepEqual([destroyed?.state, destroyed?.wrapped], ['Destroyed', null]);
      assert.equal(destroyed?.key_id, old?.key_id);
      assert.deepEqual(
        await ownVault.vault.detokenizeCard(organizationId, tokens[3] ?? '', access),
        cardOf(3),
      );
    });

    test('the vault does not encrypt a new card under a retired key, even if the process has this key in memory', async () => {
      const ownVault = await open();
      const organizationId = systemIdGenerator.uuid();
      await protect(ownVault, organizationId, 1);
      const [old] = await keysOf(organizationId);
      await database.query(`UPDATE vault_keys SET state = 'Retired' WHERE key_id = $1`, [
        old?.key_id,
      ]);
      const token = await protect(ownVault, organizationId, 2);
      const row = (await cardsOf(organizationId)).find((each) => each.token === token);
      assert.ok(row !== undefined && row.key_id !== old?.key_id);
      assert.deepEqual(
        await ownVault.vault.detokenizeCard(organizationId, token, access),
        cardOf(2),
      );
    });

    // Spec: ACQ-16
    test('continues after a process was killed, without repeating the finished part', async () => {
      const organizationId = systemIdGenerator.uuid();
      const clock = movableClock(Date.now());
      let partsLeft = Number.POSITIVE_INFINITY;
      const dying: Database = {
        ...database,
        transaction(work) {
          partsLeft -= 1;
          if (partsLeft < 0) throw new Error('killed');
          return database.transaction(work);
        },
      };
      const first = await open({ database: dying, clock });
      const count = 1_100;
      const numbers = Array.from({ length: count }, (_, number) => number);
      await Promise.all(numbers.map((number) => protect(first, organizationId, number)));
      const [old] = await keysOf(organizationId);
      clock.advance(1000);
      await replaceKey(first, organizationId);
      clock.advance(1000);
      partsLeft = 1;
      await assert.rejects(async () => first.runRound(organizationId), /killed/);
      const half = await cardsOf(organizationId);
      const untouched = half.filter(({ key_id }) => key_id === old?.key_id).length;
      assert.equal(untouched, count - 500);
      const second = await open({ clock });
      await second.runRound(organizationId);
      const rows = await cardsOf(organizationId);
      assert.ok(rows.every(({ key_id }) => key_id !== old?.key_id));
      // The second round does not repeat the work of the first.
      const done = new Map(half.map(({ token, sealed }) => [token, sealed]));
      const unchangedCount = rows.filter(({ token, sealed }) =>
        done.get(token)?.equals(sealed),
      ).length;
      assert.equal(unchangedCount, 500);
      assert.deepEqual(second.auditEntries.at(-1)?.after, { keys: [], resealed: count });
    });

    test('starts automatically when a key is older than keyRotationDays', async () => {
      const ownVault = await open({ keyRotationDays: 10 });
      const organizationId = systemIdGenerator.uuid();
      await protect(ownVault, organizationId, 1);
      await ownVault.runJob('vault-upkeep', organizationId);
      assert.deepEqual(
        (await keysOf(organizationId)).map(({ state }) => state),
        ['Active'],
      );
      ownVault.clock.advance(11 * dayMs);
      await ownVault.runJob('vault-upkeep', organizationId);
      assert.deepEqual(
        (await keysOf(organizationId)).map(({ state }) => state),
        ['Retiring'],
      );
    });

    test('the vault wraps its keys again under a new wrapping key and leaves the stored cards unchanged', async (t) => {
      const elsewhere = await openVaultDatabase();
      t.after(() => elsewhere.close());
      const old = createLocalKeyProvider(master);
      const next = createLocalKeyProvider(randomBytes(32));
      const openOver = (provider: KeyProvider) => openTestVault({ database: elsewhere, provider });
      const wrappers = async () => {
        const rows = await elsewhere.query<{ wrapped_by: string }>(
          'SELECT wrapped_by FROM vault_keys ORDER BY purpose',
        );
        return rows.map((row) => row.wrapped_by);
      };
      const sealed = () => elsewhere.query('SELECT token, sealed, key_id FROM vault_cards');
      const ownVault = await openOver(old);
      const organizationId = systemIdGenerator.uuid();
      const token = await protect(ownVault, organizationId, 1);
      const before = await sealed();
      assert.deepEqual(await wrappers(), [old.wrappingKeyName, old.wrappingKeyName]);
      const twoProvidersVault = await openOver(chainKeyProviders([next, old]));
      assert.deepEqual(
        await twoProvidersVault.vault.detokenizeCard(organizationId, token, access),
        cardOf(1),
      );
      await twoProvidersVault.runRound(organizationId);
      assert.deepEqual(await sealed(), before);
      // The index key is wrapped again too, so the old provider is no longer needed.
      assert.deepEqual(await wrappers(), [next.wrappingKeyName, next.wrappingKeyName]);
      const alone = await openOver(next);
      assert.deepEqual(await alone.vault.detokenizeCard(organizationId, token, access), cardOf(1));
      assert.equal(await protect(alone, organizationId, 1), token);
      await assert.rejects(openOver(old), /uses the key local:/);
      for (const each of [ownVault, twoProvidersVault, alone]) await each.close();
    });

    test('the metric counts the unwrapped index key, and a key that the provider refuses during the change of the wrapping key', async (t) => {
      const elsewhere = await openVaultDatabase();
      t.after(() => elsewhere.close());
      const old = createLocalKeyProvider(master);
      await (await openTestVault({ database: elsewhere, provider: old })).close();
      let isRefusing = false;
      const oldUntilRefused: KeyProvider = {
        ...old,
        unwrap: async (wrapped, identity) => {
          if (isRefusing) throw new KeyProviderError('Refused', 'the key was disabled');
          return old.unwrap(wrapped, identity);
        },
      };
      const provider = chainKeyProviders([
        createLocalKeyProvider(randomBytes(32)),
        oldUntilRefused,
      ]);
      const metrics = createMetrics();
      const changing = await openTestVault({ database: elsewhere, provider, metrics });
      isRefusing = true;
      await assert.rejects(changing.runRound(systemIdGenerator.uuid()), /the key was disabled/);
      const text = await metrics.registry.metrics();
      assert.match(text, /keys_unwrapped_total\{outcome="unwrapped"\} 1\n/);
      assert.match(text, /keys_unwrapped_total\{outcome="refused"\} 1\n/);
      await changing.close();
    });
  });

  describe('retention', () => {
    // Spec: ACQ-17
    test('deletes unused cards, records the deletion, and does not delete used cards', async () => {
      const ownVault = await open({ retentionDays: 90 });
      const organizationId = systemIdGenerator.uuid();
      const unused = await protect(ownVault, organizationId, 1);
      const used = await protect(ownVault, organizationId, 2);
      const sold = await protect(ownVault, organizationId, 3);
      const deletedCard = (await cardsOf(organizationId)).find(({ token }) => token === unused);
      const madeAt = ownVault.clock.now();
      ownVault.clock.advance(60 * dayMs);
      await ownVault.vault.detokenizeCard(organizationId, used, access);
      assert.equal(await protect(ownVault, organizationId, 3), sold);
      await ownVault.vault.drain();
      ownVault.clock.advance(20 * dayMs);
      await ownVault.runRound(organizationId);
      assert.equal((await cardsOf(organizationId)).length, 3, 'not before its time');
      assert.equal(ownVault.vault.wasDeleted(organizationId, unused, madeAt), false);
      ownVault.clock.advance(11 * dayMs);
      await ownVault.runRound(organizationId);
      const rows = await cardsOf(organizationId);
      assert.deepEqual(rows.map(({ token }) => token).sort(), [sold, used].sort());
      assert.ok(
        deletedCard !== undefined && rows.every(({ sealed }) => !sealed.equals(deletedCard.sealed)),
      );
      const [deletionEntry] = ownVault.auditEntries;
      assert.equal(deletionEntry?.action, 'vault.cardsDeleted');
      assert.ok(
        deletionEntry !== undefined &&
          'deleted' in deletionEntry.after &&
          deletionEntry.after.deleted === 1,
      );
      assert.equal(await ownVault.vault.detokenizeCard(organizationId, unused, access), undefined);
      assert.equal(await ownVault.vault.wasDeleted(organizationId, unused, madeAt), true);
      assert.equal(await ownVault.vault.wasDeleted(organizationId, used, madeAt), false);
      // The card becomes a new card, even if its old token was still cached.
      const again = await protect(ownVault, organizationId, 1);
      assert.notEqual(again, unused);
      assert.deepEqual(
        await ownVault.vault.detokenizeCard(organizationId, again, access),
        cardOf(1),
      );
    });

    test('deletes card access records after about 400 days and not before', async () => {
      const ownVault = await open();
      const organizationId = systemIdGenerator.uuid();
      const token = await protect(ownVault, organizationId, 1);
      await ownVault.vault.detokenizeCard(organizationId, token, access);
      await ownVault.vault.drain();
      const now = Date.now();
      const span = { organizationId, from: now - dayMs, to: now + dayMs, limit: 10 };
      ownVault.clock.advance(399 * dayMs);
      await ownVault.runRound(organizationId);
      assert.equal((await listPanAccesses(database, span)).length, 1);
      ownVault.clock.advance(3 * dayMs);
      await ownVault.runRound(organizationId);
      assert.deepEqual(await listPanAccesses(database, span), []);
    });
  });
});

describe('a vault of the time of one key for everything', () => {
  test('opens with its old key, keeps tokens, fingerprints and cards, and after one upkeep round does not need that key', async (t) => {
    const database = await openVaultDatabase();
    t.after(() => database.close());
    const legacyMaster = randomBytes(32);
    const organizationId = systemIdGenerator.uuid();
    const token = systemIdGenerator.uuidV4();
    const { pan, expiry } = cardOf(9);
    const fingerprint = createHmac('sha256', deriveKey(legacyMaster, 'vault-fingerprint'))
      .update(`${organizationId}|${pan}|${expiry}`)
      .digest();
    const dataKey = deriveKey(legacyMaster, 'vault-data');
    const sealed = encryptBytes(
      dataKey,
      Buffer.from(`${pan}|${expiry}`),
      `${organizationId}|${token}`,
    );
    await database.query(
      `INSERT INTO vault_cards (organization_id, token, fingerprint, sealed, created_at)
      VALUES ($1, $2, $3, $4, now())`,
      [organizationId, token, fingerprint, sealed],
    );
    const provider = createLocalKeyProvider(randomBytes(32));
    await assert.rejects(openTestVault({ database, provider }), /SWITCHYARD_VAULT_KEY_PREVIOUS/);
    const testVault = await openTestVault({ database, provider, legacyMasterKey: legacyMaster });
    const { vault } = testVault;
    assert.equal(vault.fingerprintCard(organizationId, cardOf(9)), fingerprint.toString('hex'));
    assert.deepEqual(await vault.detokenizeCard(organizationId, token, access), cardOf(9));
    assert.equal(
      await vault.tokenizeCard(organizationId, cardOf(9), fingerprint.toString('hex')),
      token,
    );
    await testVault.runRound(organizationId);
    await testVault.close();
    // The old key is no longer needed.
    const next = await openTestVault({ database, provider });
    assert.deepEqual(await next.vault.detokenizeCard(organizationId, token, access), cardOf(9));
    assert.equal(
      next.vault.fingerprintCard(organizationId, cardOf(9)),
      fingerprint.toString('hex'),
    );
    await next.close();
  });
});
