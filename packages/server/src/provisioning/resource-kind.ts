// What differs between the provisioned things: the table, the members and the rules of each kind.
import type { Kysely } from 'kysely';
import type { DependantKind } from './dependants.ts';
import type { NotFoundCode } from './errors.ts';
import type { Lookup } from './lookup.ts';
import type { Scope } from './scope.ts';
import type { Condition, Row, Run, Table } from './store.ts';

/** What a client sent: checked against its schema, defaults not filled in. */
export type Input = Readonly<Record<string, unknown>>;

export type Filter = (value: unknown) => Condition;

/** What belongs to a thing elsewhere: changed in its transaction, after its row and before the audit. */
export type Beside = {
  created?(trx: Kysely<unknown>, row: Row, input: Input, scope?: Scope): Promise<void>;
  replaced?(trx: Kysely<unknown>, row: Row, before: Row): Promise<void>;
  removed?(trx: Kysely<unknown>, row: Row, scope?: Scope): Promise<void>;
};

export type Kind<View> = {
  readonly table: Table;
  readonly notFound: NotFoundCode;
  /** The identifier's member, `storeId`. */
  readonly idMember: string;
  /** As the audit names it; left out: the identifier's member without `Id`. */
  readonly entity?: string;
  readonly filters: Readonly<Record<string, Filter>>;
  readonly dependants: readonly DependantKind[];
  readonly beside?: Beside;
  toView(row: Row): View;
  /** Checks the meaning of the input and gives the columns beside the common ones. */
  columns(lookup: Lookup, scope: Scope, input: Input, current: Row | undefined): Promise<Row>;
  /** The members that stay as they were made, with their present values. */
  readOnly(row: Row): Input;
  /** Comes first in a write, so that writers who could contradict each other take turns. */
  readonly hold?: (run: Run, scope: Scope) => Promise<void>;
};
