// Imports zone keys that hosts send into the HSM, and stores the key references before use.
import { defined } from '@switchyard/contract';
import {
  type Clock,
  createKeyedQueue,
  type Database,
  isoTime,
  type Log,
} from '../../platform/index.ts';
import type { Hsm, KeyImport } from '../../vault/index.ts';
import type { Iso8583HostLink, ZonePinKey } from '../spi/acquirer-spi.ts';

/** A new key from the host, encrypted under the zone master key of the link. */
export type ZoneKeyUpdate = Omit<KeyImport, 'wrappingKeyRef'> & {
  keyIndex: string;
  checkValue: string;
};

export type ZoneKeyRing = ReturnType<ZoneKeys['keyRingFor']>;

export type ZoneKeys = ReturnType<typeof createZoneKeys>;

type StoredZoneKey = Pick<ZoneKeyUpdate, 'usage' | 'checkValue'> & {
  linkId: string;
  keyRef: string;
  keyIndex: string | null;
  configuredKeyRef: string | null;
};

/** Maximum queued key updates of one link; further updates are rejected. */
const maxWaitingImports = 4;

/** Two keys are active. Older keys are remembered, so that a replayed key is rejected. */
const activeKeysPerUsage = 2;
const rememberedKeysPerUsage = 64;

const insertKeySql = `INSERT INTO acquirer_link_keys (organization_id, acquirer_link_id, usage, generation,
    key_ref, check_value, key_index, configured_key_ref, created_at)
  SELECT $1, $2, $3, coalesce(max(generation), 0) + 1, $4, $5, $6, $7, $8 FROM acquirer_link_keys
  WHERE organization_id = $1 AND acquirer_link_id = $2 AND usage = $3
  ON CONFLICT DO NOTHING RETURNING generation`;

const deleteOldKeysSql = `DELETE FROM acquirer_link_keys
  WHERE organization_id = $1 AND acquirer_link_id = $2 AND usage = $3 AND generation <= $4`;

const selectKeysSql = `SELECT acquirer_link_id AS "linkId", usage, key_ref AS "keyRef",
    check_value AS "checkValue", key_index AS "keyIndex", configured_key_ref AS "configuredKeyRef"
  FROM acquirer_link_keys ORDER BY organization_id, acquirer_link_id, usage, generation DESC`;

const configuredKeyRefFor = (
  { settings: { macKey, zonePinKey } }: Iso8583HostLink,
  usage: ZoneKeyUpdate['usage'],
): string | null => (usage === 'Mac' ? macKey : zonePinKey)?.keyRef ?? null;

export function createZoneKeys(ports: {
  database: Database;
  clock: Clock;
  log: Log;
  hsm?: Pick<Hsm, 'importKey'> | undefined;
}) {
  const { database, clock, log, hsm } = ports;
  let keysByLink = new Map<string, StoredZoneKey[]>();
  const queue = createKeyedQueue();

  /** Keys of one usage, newest first. The list is empty after an operator configures another key. */
  function listReceivedKeys(link: Iso8583HostLink, usage: ZoneKeyUpdate['usage']): StoredZoneKey[] {
    if (link.settings.zoneMasterKey === undefined) return [];
    const configuredKeyRef = configuredKeyRefFor(link, usage);
    const linkKeys = keysByLink.get(link.linkId) ?? [];
    return linkKeys.filter(
      (each) => each.usage === usage && each.configuredKeyRef === configuredKeyRef,
    );
  }

  /** Reloads run one at a time: an older read must not overwrite a newer one. */
  const reload = (): Promise<void> =>
    queue.run('reload', async () => {
      const keys = await database.query<StoredZoneKey>(selectKeysSql);
      keysByLink = Map.groupBy(keys, ({ linkId }) => linkId);
    });

  async function storeKey(link: Iso8583HostLink, update: ZoneKeyUpdate, keyRef: string) {
    const { usage, checkValue, keyIndex } = update;
    const key = [link.organizationId, link.linkId, usage];
    const createdAt = isoTime(clock.now());
    const values = [
      ...key,
      keyRef,
      checkValue,
      keyIndex,
      configuredKeyRefFor(link, usage),
      createdAt,
    ];
    const [row] = await database.query<{ generation: number }>(insertKeySql, values);
    // On a conflict another process has stored the same key, and its row is valid.
    if (row !== undefined)
      await database.query(deleteOldKeysSql, [...key, row.generation - rememberedKeysPerUsage]);
    await reload();
  }

  async function importUpdate(link: Iso8583HostLink, update: ZoneKeyUpdate): Promise<boolean> {
    const masterKey = link.settings.zoneMasterKey;
    const { usage, checkValue } = update;
    const logContext = { link: link.name, usage, checkValue };
    if (masterKey === undefined || hsm === undefined) {
      log.error(logContext, 'host sent a key, but the link has no zone master key; rejected');
      return false;
    }
    const [currentKey, ...olderKeys] = listReceivedKeys(link, usage);
    // A host repeats the current key if it lost the response. An older key is a replay.
    if (currentKey?.checkValue === checkValue) return true;
    if (olderKeys.some((each) => each.checkValue === checkValue)) {
      log.error(logContext, 'host sent a replaced key again; the key is rejected');
      return false;
    }
    try {
      const wrappingKeyRef = masterKey.keyRef;
      const { keyRef } = await hsm.importKey({ ...update, wrappingKeyRef });
      await storeKey(link, update, keyRef);
      log.info(logContext, 'new zone key of a host is active');
      return true;
    } catch (error) {
      log.error({ ...logContext, err: error }, 'zone key could not be imported');
      return false;
    }
  }

  return {
    /** Reads the stored keys again, including those of other processes. */
    reload,
    keyRingFor(link: Iso8583HostLink) {
      let waitingImports = 0;
      return {
        getPinKey(): ZonePinKey | undefined {
          const { zonePinKey } = link.settings;
          const [newestKey] = listReceivedKeys(link, 'ZonePin');
          if (newestKey === undefined || zonePinKey === undefined) return zonePinKey;
          const { keyRef, keyIndex } = newestKey;
          return { ...zonePinKey, keyRef, ...defined({ keyIndex: keyIndex ?? undefined }) };
        },
        /** The current key first, then the previous key, which is still accepted. */
        listMacKeyRefs(): readonly string[] {
          const keys = [...listReceivedKeys(link, 'Mac'), link.settings.macKey];
          return keys.flatMap((key) => key?.keyRef ?? []).slice(0, activeKeysPerUsage);
        },
        /** True if the link has a zone master key and the host has sent no key yet. */
        shouldRequestKeys: () =>
          link.settings.zoneMasterKey !== undefined &&
          hsm !== undefined &&
          listReceivedKeys(link, 'ZonePin').length + listReceivedKeys(link, 'Mac').length === 0,
        /**
         * Imports and stores a new key; returns false if the import fails. Imports of a link run one at a
         * time, so that one host cannot occupy the HSM.
         */
        async importKey(update: ZoneKeyUpdate): Promise<boolean> {
          if (waitingImports >= maxWaitingImports) {
            const { usage, checkValue } = update;
            const logContext = { link: link.name, usage, checkValue };
            log.error(logContext, 'host sends keys faster than they can be imported; key rejected');
            return false;
          }
          waitingImports += 1;
          return queue
            .run(link.linkId, () => importUpdate(link, update))
            .finally(() => {
              waitingImports -= 1;
            });
        },
      };
    },
  };
}
