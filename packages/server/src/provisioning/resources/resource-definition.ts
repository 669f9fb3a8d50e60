// Defines the differences between provisioned entities: the table, the members and the rules.
import type { Queries } from '../../platform/index.ts';
import type { CallerScope } from './caller-scope.ts';
import type { DependantType } from './find-dependants.ts';
import type { NotFoundCode } from './provisioning-errors.ts';
import type { ReferencedRows } from './referenced-rows.ts';
import type { EntityTable, Row, SqlCondition } from './resource-sql.ts';

/** The client's input: validated against its schema, without defaults. */
export type ResourceInput = Readonly<Record<string, unknown>>;

export type ResourceFilter = (value: unknown) => SqlCondition;

/** Related data elsewhere, changed in the same transaction, after the row and before the audit. */
export type RelatedDataHooks = {
  onCreated?(trx: Queries, row: Row, input: ResourceInput, scope?: CallerScope): Promise<void>;
  onReplaced?(trx: Queries, row: Row, before: Row): Promise<void>;
  onRemoved?(trx: Queries, row: Row, scope?: CallerScope): Promise<void>;
};

export type ResourceDefinition<View> = {
  readonly table: EntityTable;
  readonly notFoundCode: NotFoundCode;
  /** The name of the identifier, such as `storeId`. */
  readonly idMember: string;
  /** The type in the audit; by default the name of the identifier without `Id`. */
  readonly auditType?: string;
  readonly filters: Readonly<Record<string, ResourceFilter>>;
  readonly dependants: readonly DependantType[];
  readonly relatedData?: RelatedDataHooks;
  toView(row: Row): View;
  /** Checks the rules for the input, and returns the columns of this kind. */
  toColumns(
    lookup: ReferencedRows,
    scope: CallerScope,
    input: ResourceInput,
    current: Row | undefined,
  ): Promise<Row>;
  /** The members that cannot change, with their current values. */
  readOnlyMembers(row: Row): ResourceInput;
  /** Takes a lock before each write, so that conflicting writers run one after the other. */
  readonly lock?: (queries: Queries, scope: CallerScope) => Promise<void>;
};
