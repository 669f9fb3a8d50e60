// The bucket: the shard key of payments, jobs and the outbox.

/** Never changes: a distributed database moves buckets between its servers, and a row never changes its bucket. */
export const bucketCount = 1024;

const bucketHexDigits = 3;

/**
 * The bucket of a UUID, 0 to 1,023: its last ten bits. The identifiers of a merchant's transactions, batches and
 * jobs end with the same ten bits, so that each leads to the shard that has all rows of the merchant.
 * Source: ADR 0105.
 *
 * @example const bucket = bucketOf(merchantId); const transactionId = ids.uuid(bucket);
 */
export const bucketOf = (uuid: string): number =>
  Number.parseInt(uuid.slice(-bucketHexDigits), 16) % bucketCount;

/**
 * A row in another bucket than its merchant would not be found by a look-up with the merchant.
 *
 * @returns the bucket of both
 */
export function requireSameBucket(merchantId: string, uuid: string): number {
  const bucket = bucketOf(uuid);
  if (bucket !== bucketOf(merchantId))
    throw new Error(
      `${uuid} is in another bucket than merchant ${merchantId}: use ids.uuid(bucketOf(merchantId))`,
    );
  return bucket;
}

/** {@link bucketOf} in SQL, for identifiers that only the database knows. */
export const bucketSql = (uuidExpression: string): string =>
  `(('x' || right(${uuidExpression}::text, ${bucketHexDigits}))::bit(12)::integer % ${bucketCount})::smallint`;

/** All buckets as a PostgreSQL array, for the few look-ups that know no merchant. */
export const allBuckets = `{${Array.from({ length: bucketCount }, (_, bucket) => bucket).join(',')}}`;
