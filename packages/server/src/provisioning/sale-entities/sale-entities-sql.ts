// The statements on the path of a sale, which use only primary keys.

/** The number of enabled contracts of a merchant that routing considers; it ignores others. */
const contractsMax = 10;

/**
 * $1: organisation, $2: merchant, $3: store, $4: device. The last three may be null, and follow
 * from the lower entity. The statement returns one row for each enabled contract, oldest first. On
 * small tables, the planner would scan all stores for a plain join, or choose another index.
 * LATERAL with LIMIT makes it look up one primary key at a time. The filter outside the LIMIT
 * prevents the use of partial indexes.
 */
export const resolveSaleEntitiesStatement = {
  name: 'provisioning-resolve',
  text: `SELECT o.status AS organization_status, o.name AS organization_name, o.ancestor_ids,
      m.merchant_id, m.external_id AS merchant_external_id, m.name AS merchant_name, m.mcc AS merchant_mcc, m.country,
      m.time_zone AS merchant_time_zone, m.status AS merchant_status, m.address AS merchant_address,
      s.store_id, s.merchant_id AS store_merchant_id, s.name AS store_name,
      s.time_zone AS store_time_zone, s.status AS store_status, s.address AS store_address,
      d.logical_device_id, d.store_id AS device_store_id, d.name AS device_name,
      d.merchant_id AS device_merchant_id, d.status AS device_status,
      CASE WHEN l.approval = 'Approved' THEN l.status ELSE l.approval END AS link_status, c.*
    FROM organizations o
    LEFT JOIN LATERAL (
      SELECT * FROM (
        SELECT * FROM logical_devices
        WHERE organization_id = o.organization_id AND logical_device_id = $4::uuid LIMIT 1
      ) one WHERE removed_at IS NULL
    ) d ON true
    LEFT JOIN LATERAL (
      SELECT * FROM (
        SELECT * FROM stores
        WHERE organization_id = o.organization_id AND store_id = coalesce($3::uuid, d.store_id)
        LIMIT 1
      ) one WHERE removed_at IS NULL
    ) s ON true
    LEFT JOIN LATERAL (
      SELECT * FROM (
        SELECT * FROM merchants
        WHERE organization_id = o.organization_id
          AND merchant_id = coalesce($2::uuid, s.merchant_id) LIMIT 1
      ) one WHERE removed_at IS NULL
    ) m ON true
    LEFT JOIN LATERAL (
      SELECT a.contract_id, a.merchant_id AS contract_merchant_id, a.acquirer_link_id,
        a.acquirer_merchant_id, a.terminal_id_from, a.terminal_id_to, a.mcc AS contract_mcc,
        a.currencies, a.capture_modes, a.default_capture_mode, a.capture_transport,
        a.partial_cancel, a.multiple_capture, a.over_capture_percent, a.partial_approval,
        a.clear_card_data, a.hold_days, a.routing, a.cut_over_time, a.offline_limits
      FROM acquirer_contracts a
      WHERE a.organization_id = o.organization_id AND a.merchant_id = m.merchant_id
        AND a.status = 'Enabled' AND a.removed_at IS NULL
      ORDER BY a.contract_id LIMIT ${contractsMax}
    ) c ON true
    LEFT JOIN LATERAL (
      SELECT * FROM (
        SELECT * FROM acquirer_links
        WHERE organization_id = o.organization_id AND acquirer_link_id = c.acquirer_link_id LIMIT 1
      ) one WHERE removed_at IS NULL
    ) l ON true
    WHERE o.organization_id = $1 AND o.removed_at IS NULL
    ORDER BY c.contract_id`,
} as const;

/**
 * $1: organisation, $2: contract. Includes disabled and deleted contracts, for their transactions.
 */
export const findContractStatement = {
  name: 'provisioning-contract',
  text: `SELECT a.contract_id, a.merchant_id AS contract_merchant_id, a.acquirer_link_id,
      a.acquirer_merchant_id, a.terminal_id_from, a.terminal_id_to, a.mcc AS contract_mcc,
      a.currencies, a.capture_modes, a.default_capture_mode, a.capture_transport,
      a.partial_cancel, a.multiple_capture, a.over_capture_percent, a.partial_approval,
      a.clear_card_data, a.hold_days, a.routing, a.cut_over_time, a.offline_limits, m.mcc AS merchant_mcc
    FROM acquirer_contracts a
    LEFT JOIN LATERAL (
      SELECT mcc FROM merchants
      WHERE organization_id = a.organization_id AND merchant_id = a.merchant_id LIMIT 1
    ) m ON true
    WHERE a.organization_id = $1 AND a.contract_id = $2`,
} as const;
