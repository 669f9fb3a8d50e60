/** The health of the platform for administrators: components and queues. */
import { type Static, Type } from 'typebox';
import { closed } from '../values-and-problems/resource-schemas.ts';
import { Timestamp, wordOf } from '../values-and-problems/value-schemas.ts';

const queue = (description: string) =>
  closed(
    {
      waiting: Type.Integer({
        minimum: 0,
        description: 'The number of waiting items of the organisation; at most 10000 are counted.',
      }),
      oldestSeconds: Type.Integer({
        minimum: 0,
        description: 'For how long the oldest of it has waited; 0 where nothing does.',
      }),
    },
    description,
  );

/**
 * The state of the components that the responding process uses, and the queues of the organisation.
 *
 * @example
 * const { components, queues } = (await response.json()) as PlatformHealth;
 */
export const PlatformHealth = closed(
  {
    at: Timestamp,
    status: wordOf(['Up', 'Degraded'], {
      description: '`Degraded` where a component is down or a queue has waited for a minute.',
    }),
    components: Type.Array(
      closed(
        {
          name: Type.String({ examples: ['database'] }),
          status: wordOf(['Up', 'Down'], { description: 'Whether it answers.' }),
        },
        'A component of the platform.',
      ),
    ),
    queues: closed(
      {
        jobs: queue('Due items that have not been started.'),
        outbox: queue('Facts that are not handed on yet as events.'),
        webhooks: queue('Deliveries of events that have still to succeed.'),
      },
      'The waiting items of the organisation of the caller.',
    ),
  },
  'How the platform is doing.',
);
export type PlatformHealth = Static<typeof PlatformHealth>;

/**
 * Whether the platform assigns new numbers for acquirers, and accepts new payments.
 *
 * @example
 * const { status } = (await response.json()) as PlatformNumbering;
 */
export const PlatformNumbering = closed(
  {
    status: wordOf(['Available', 'RecoveryRequired'], {
      description:
        '`RecoveryRequired` after a restore of the database that lost payments: new payments are refused until the recovery.',
    }),
    timeline: Type.Optional(
      Type.Integer({ minimum: 1, description: 'The timeline of the PostgreSQL server.' }),
    ),
    jumps: Type.Integer({
      minimum: 0,
      description: 'How often the numbers skipped a margin, after a fail-over or a restore.',
    }),
  },
  'The numbering of the platform.',
);
export type PlatformNumbering = Static<typeof PlatformNumbering>;
