// Defines the differences between provisioned entities: the table, the members and the rules.
import type { Kysely } from 'kysely';
import type { Scope } from './caller-scope.ts';
import type { DependantKind } from './find-dependants.ts';
import type { NotFoundCode } from './provisioning-errors.ts';
import type { Lookup } from './referenced-rows.ts';
import type { Condition, Row, Run, Table } from './resource-sql.ts';

/** The client's input: validated against its schema, without defaults. */
export type Input = Readonly<Record<string, unknown>>;

export type Filter = (value: unknown) => Condition;

/** Related data elsewhere, changed in the same transaction, after the row and before the audit. */
export type Beside = {
  created?(trx: Kysely<unknown>, row: Row, input: Input, scope?: Scope): Promise<void>;
  replaced?(trx: Kysely<unknown>, row: Row, before: Row): Promise<void>;
  removed?(trx: Kysely<unknown>, row: Row, scope?: Scope): Promise<void>;
};

export type Kind<View> = {
  readonly table: Table;
  readonly notFound: NotFoundCode;
  /** The name of the identifier, such as `storeId`. */
  readonly idMember: string;
  /** The type in the audit; by default the name of the identifier without `Id`. */
  readonly entity?: string;
  readonly filters: Readonly<Record<string, Filter>>;
  readonly dependants: readonly DependantKind[];
  readonly beside?: Beside;
  toView(row: Row): View;
  /** Checks the rules for the input, and returns the columns of this kind. */
  columns(lookup: Lookup, scope: Scope, input: Input, current: Row | undefined): Promise<Row>;
  /** The members that cannot change, with their current values. */
  readOnly(row: Row): Input;
  /** Takes a lock before each write, so that conflicting writers run one after the other. */
  readonly hold?: (run: Run, scope: Scope) => Promise<void>;
};
