/** The definition of an event type: its name, its meaning and its data. */
import type { TObject, TProperties } from 'typebox';
import { Type } from 'typebox';
import { identifier } from '../schemas/values-and-problems/resource-schemas.ts';

/**
 * One type of event.
 *
 * @example
 * const definition: EventDefinition | undefined = eventDefinitions.get('transaction.captured');
 */
export type EventDefinition = {
  /** Words of letters, digits and `_`, separated by dots: `transaction.captured`. */
  readonly type: string;
  /** One sentence that says what happened. */
  readonly description: string;
  /** The schema of `data`. New members may be added later; existing members are never removed. */
  readonly data: TObject;
  readonly example: Readonly<Record<string, unknown>>;
};

/** The members of every event. Readers ignore unknown members. */
const everywhere = {
  organizationId: Type.String({ format: 'uuid', description: 'Whose event it is.' }),
  merchantId: Type.Optional(
    Type.String({ format: 'uuid', description: 'The merchant, where it is of one.' }),
  ),
  sequence: Type.Integer({
    minimum: 1,
    description:
      'Counts the changes of the subject. The event with the higher number happened later, in any order of arrival.',
  }),
};

export const exampleIds = {
  organizationId: '019823f0-5d2c-7a31-9a53-0c6f1f2e9b11',
  merchantId: '019823f0-5d2c-7b42-8c11-3f0a9d6e4c22',
  storeId: '019823f0-5d2c-7c53-9d22-4a1b8e7f5d33',
  deviceId: '019823f0-5d2c-7d64-8e33-5b2c9f806e44',
};

/**
 * The schema of `data` for the events of one family.
 *
 * @param members - the members of the family, in addition to those of every event
 * @returns an open object; readers ignore unknown members
 * @example
 * const data = eventData({ batchId: identifier('The batch.') });
 */
export const eventData = <const Members extends TProperties>(
  members: Members,
): TObject<typeof everywhere & Members> =>
  Type.Object({ ...everywhere, ...members }, { additionalProperties: true });

export const storeMembers = {
  storeId: Type.Optional(identifier('The store.')),
  deviceId: Type.Optional(identifier('The logical device.')),
};
