// SQL for the indexes whose key is a hash of the organisation and a value.

/** The hash of a UUID and its organisation. */
export const uuidKeySql = (value: string, organization: string) =>
  `uuid_hash_extended(${value}, uuid_hash_extended(${organization}, 0))`;
/** The hash of a text and its organisation. */
export const textKeySql = (value: string, organization: string) =>
  `hashtextextended(${value}, uuid_hash_extended(${organization}, 0))`;

/** A condition on such a key; `$1` is the organisation. In rare cases another value has the same hash. */
export const keyCondition = (keySql: typeof uuidKeySql, column: string, value: string) =>
  `${keySql(column, 'organization_id')} = ${keySql(value, '$1')}`;

/**
 * PostgreSQL uses no index for IS NOT DISTINCT FROM, so the planner cannot choose the primary key
 * instead of the hash index.
 */
export const organizationFilter = 'organization_id IS NOT DISTINCT FROM $1::uuid';
