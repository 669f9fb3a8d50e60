// Writes the credentials of points of sale in the same transaction as their rows.
import type { BulkResult } from '@switchyard/contract';
import type { Queries } from '../../../platform/index.ts';
import { createPointOfSaleDefinition, type PosClients } from '../../devices/points-of-sale.ts';
import { posClientId } from '../../resources/format-rules.ts';
import { pointsOfSale } from '../../resources/tables.ts';
import type { RowCache } from './row-cache.ts';
import type { WriteRelatedData } from './write-rows.ts';

export function createPointOfSaleCredentials(posClients: () => PosClients) {
  const { relatedData = {} } = createPointOfSaleDefinition(posClients);

  return {
    /** One by one, because each application has its own hash of a secret. */
    createWriter:
      (trx: Queries, { secrets }: RowCache): WriteRelatedData =>
      async (table, { created, changed, removed }) => {
        if (table !== pointsOfSale) return;
        for (const row of created) {
          const clientSecret = secrets.get(String(row[pointsOfSale.id]));
          await relatedData.onCreated?.(trx, row, { clientSecret });
        }
        for (const { before, after } of changed) await relatedData.onReplaced?.(trx, after, before);
        for (const row of removed) await relatedData.onRemoved?.(trx, row);
      },

    /** Runs after the commit; before it, other requests would read the old rows again. */
    invalidateAfterCommit(organizationId: string, results: readonly BulkResult[]): void {
      for (const { type, status, id } of results) {
        if (type !== 'pointOfSale' || id === undefined) continue;
        if (status !== 'replaced' && status !== 'deleted') continue;
        posClients().invalidate({ organizationId, clientId: posClientId(id) });
      }
    },
  };
}
