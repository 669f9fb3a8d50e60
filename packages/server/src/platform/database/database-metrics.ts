// Metrics of the database: its availability, the connection pools and the group commits of this process.
import type { Metrics } from '../observability/metrics.ts';
import type { Database } from './database.ts';
import type { PoolUsage } from './hot-path/connection-pool.ts';
import { type BatchTotals, batchTotals } from './hot-path/group-commit.ts';

/** @example registerDatabaseMetrics(metrics, database); */
export function registerDatabaseMetrics(
  metrics: Metrics,
  database: Pick<Database, 'healthy' | 'poolUsage'>,
): void {
  metrics.gauge({
    name: 'switchyard_database_up',
    help: '1 if the database answers, 0 if it does not',
    async collect() {
      this.set((await database.healthy()) ? 1 : 0);
    },
  });

  function registerPoolGauge(name: string, help: string, value: keyof PoolUsage): void {
    metrics.gauge({
      name: `switchyard_database_pool_${name}`,
      help,
      labelNames: ['pool'],
      collect() {
        for (const [pool, usage] of Object.entries(database.poolUsage()))
          this.set({ pool }, usage[value]);
      },
    });
  }
  registerPoolGauge('connections_in_use', 'Connections of the pool that run a statement', 'inUse');
  registerPoolGauge('connections_max', 'Maximum number of connections of the pool', 'max');
  registerPoolGauge('requests_waiting', 'Statements that wait for a connection', 'waiting');

  function registerBatchCounter(name: string, help: string, value: keyof BatchTotals): void {
    metrics.counter({
      name: `switchyard_database_${name}_total`,
      help,
      labelNames: ['batch'],
      collect() {
        this.reset();
        for (const [batch, totals] of batchTotals) this.inc({ batch }, totals[value]);
      },
    });
  }
  registerBatchCounter('batches', 'Batches of rows that were written or read together', 'batches');
  registerBatchCounter('batch_rows', 'Rows that were written or read in batches', 'rows');
}
