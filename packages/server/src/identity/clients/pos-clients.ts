// The applications of points of sale: provisioning makes, changes and removes them with its own rows.
import { refuse } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import type { Clock, Ids } from '../../platform/index.ts';
import { hashSecret } from '../infrastructure/secret-hash.ts';
import type { Status } from '../realms-and-keys/realm.ts';
import type { Application } from './application.ts';
import type { TellApplication } from './application-audit.ts';
import { changeApplication, insertApplication, removeApplication } from './application-sql.ts';
import { type Applications, applicationFrom } from './applications.ts';

/** A point of sale, as its application needs to know it. */
export type Till = {
  readonly organizationId: string;
  /** `pos-` and the identifier of the point of sale. */
  readonly clientId: string;
  readonly merchantId: string;
  readonly storeId: string;
  readonly name: string;
  readonly status: Status;
};

type Key = Pick<Till, 'organizationId' | 'clientId'>;

/** Such a name is given by the platform alone, and what bears it is changed by its point of sale. */
export const isTillClientId = (clientId: string): boolean =>
  /^pos-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(clientId);

/** The record of the point of sale, in the same transaction, tells of its application as well. */
const toldAlready: TellApplication = async () => {};

export type Tills = ReturnType<typeof createTills>;

type Deps = {
  readonly applications: Pick<Applications, 'changed'>;
  readonly clock: Clock;
  readonly ids: Ids;
};

/** @example const tills = createTills({ applications, clock, ids }); */
export function createTills({ applications, clock, ids }: Deps) {
  async function change(
    trx: Kysely<unknown>,
    key: Key,
    by: (standing: Application) => Application,
  ): Promise<void> {
    const changed = await changeApplication(trx, key, clock.now(), by, toldAlready);
    if (changed === undefined) throw new Error(`the point of sale ${key.clientId} lost its client`);
  }

  return {
    /** It can do what a till does, in its own store, and its secret is kept as a hash. */
    async create(trx: Kysely<unknown>, till: Till, clientSecret: string): Promise<void> {
      const { merchantId, ...own } = till;
      if (!isTillClientId(till.clientId)) throw new Error(`${till.clientId} names no till`);
      const application = applicationFrom(
        {
          ...own,
          entityType: 'merchant',
          entityId: merchantId,
          merchantId,
          roles: ['PointOfSaleTerminal'],
          securityFlows: ['ClientCredentials'],
        },
        ids,
      );
      const wanted = { ...application, secretHash: hashSecret(clientSecret) };
      const made = await insertApplication(trx, wanted, clock.now(), toldAlready);
      if (made === undefined) refuse('already_exists', 'This client id is taken.');
    },

    change: (trx: Kysely<unknown>, { name, status, ...key }: Till): Promise<void> =>
      change(trx, key, (standing) => ({ ...standing, name, status })),

    renewSecret: (trx: Kysely<unknown>, key: Key, clientSecret: string): Promise<void> =>
      change(trx, key, (standing) => ({ ...standing, secretHash: hashSecret(clientSecret) })),

    async remove(trx: Kysely<unknown>, key: Key): Promise<void> {
      await removeApplication(trx, key, clock.now(), () => {}, toldAlready);
    },

    /** Once it is committed: this process sees it at once, others within seconds. */
    changed: ({ organizationId, clientId }: Key): void =>
      applications.changed(organizationId, clientId),
  };
}
