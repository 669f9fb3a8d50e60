/**
 * The closed list of error codes, in the order in which a request can meet them.
 *
 * Data only: `errors.ts` holds the types and the documentation of this table.
 */
const refused = <const Status extends number>(status: Status, title: string, help: string) =>
  ({ status, title, help, retryable: false, outcome: 'NotProcessed' }) as const;

const refusedForNow = <const Status extends number>(status: Status, title: string, help: string) =>
  ({ status, title, help, retryable: true, outcome: 'NotProcessed' }) as const;

const notKnown = <const Status extends number>(status: Status, title: string, help: string) =>
  ({ status, title, help, retryable: true, outcome: 'Unknown' }) as const;

/** Size, media type and headers: checked before anything is read. */
const transportCodes = {
  request_malformed: refused(
    400,
    'The request is not valid HTTP',
    'The request line, a header or the encoding of the address could not be understood.',
  ),
  missing_header: refused(
    400,
    'A required header is missing',
    'The operation needs a header that the request did not carry; the detail names it.',
  ),
  header_invalid: refused(
    400,
    'A header has an invalid value',
    'A header of the request has a value outside its format; the detail names the header.',
  ),
  request_timeout: refusedForNow(
    408,
    'The request did not arrive in time',
    'The connection stayed open without delivering the whole request within the limit.',
  ),
  payload_too_large: refused(
    413,
    'The body is too large',
    'The body is longer than the limit of the operation, 1 MiB where nothing else is documented.',
  ),
  uri_too_long: refused(
    414,
    'The address is too long',
    'The address of the request, its query included, is longer than the limit.',
  ),
  unsupported_media_type: refused(
    415,
    'The media type is not supported',
    'The operation reads application/json in UTF-8, or the media type that its page names.',
  ),
  headers_too_large: refused(
    431,
    'The headers are too large',
    'The headers of the request are together longer than the limit.',
  ),
  route_not_found: refused(
    404,
    'No such address',
    'No operation of this platform has this path; compare it with the OpenAPI document.',
  ),
  method_not_allowed: refused(
    405,
    'The method is not allowed here',
    'The path exists and knows other methods; the Allow header lists them.',
  ),
  not_acceptable: refused(
    406,
    'No acceptable representation',
    'The Accept header admits none of the media types that the operation can answer with.',
  ),
  endpoint_gone: refused(
    410,
    'The address has been withdrawn',
    'The operation existed and was withdrawn after its announced sunset.',
  ),
  version_retired: refused(
    410,
    'The version has been retired',
    'The version in the path is past its announced sunset; use its successor.',
  ),
} as const;

/** Authentication, permission and scope. */
const accessCodes = {
  token_missing: refused(
    401,
    'An access token is needed',
    'Send the header Authorization: Bearer with an access token of your user domain.',
  ),
  token_invalid: refused(
    401,
    'The access token is not valid',
    'The token is malformed, not signed by a known realm, revoked, or not meant for this platform.',
  ),
  token_expired: refused(
    401,
    'The access token has expired',
    'Obtain a new access token and send the request again with it.',
  ),
  certificate_required: refused(
    401,
    'A client certificate is needed',
    'The operation, or the token, is bound to a client certificate that the connection did not show.',
  ),
  permission_denied: refused(
    403,
    'The permission is missing',
    'The token is valid and lacks the permission that the operation needs; the detail names it.',
  ),
  entity_out_of_scope: refused(
    403,
    'The entity is outside the scope of the token',
    'The request names another merchant, store or device than the one that the token is bound to.',
  ),
  user_deactivated: refused(
    403,
    'The user is deactivated',
    'A deactivated user can use no function; an administrator can activate the user again.',
  ),
  merchant_not_active: refused(
    403,
    'The merchant is not active',
    'The merchant exists and is disabled in provisioning.',
  ),
  store_not_active: refused(
    403,
    'The store is not active',
    'The store exists and is disabled in provisioning.',
  ),
  device_not_active: refused(
    403,
    'The device is not active',
    'The device exists and is disabled, or not linked to an enabled store.',
  ),
} as const;

/** Syntax and fields: what the body and the query say. */
const fieldCodes = {
  malformed_json: refused(
    400,
    'The body is not strict JSON',
    'The body is not JSON, repeats a member, writes a number as 10.0 or 1e3, or nests too deep.',
  ),
  field_required: refused(
    422,
    'A required member is missing',
    'A member that the operation needs is absent; the pointer names it.',
  ),
  field_unknown: refused(
    422,
    'A member is not known',
    'The body holds a member that the operation does not know; nothing is ignored silently.',
  ),
  field_invalid: refused(
    422,
    'A member has an invalid value',
    'A member has the wrong type or a value outside its documented range; the pointer names it.',
  ),
  field_read_only: refused(
    422,
    'A read-only member was changed',
    'The member is set at creation and cannot be given another value; the pointer names it.',
  ),
  cursor_invalid: refused(
    422,
    'The cursor is not valid',
    'Use the nextCursor of the previous page with the same filters, unchanged.',
  ),
  amount_invalid: refused(
    422,
    'The amount is not valid',
    'An amount is a positive integer in minor units of its currency, as a JSON integer.',
  ),
  amount_zero: refused(
    422,
    'The amount is zero',
    'Zero is accepted for an account verification alone.',
  ),
  amount_too_large: refused(
    422,
    'The amount is too large',
    'The largest amount is 999999999999 minor units, twelve digits.',
  ),
  currency_unknown: refused(
    422,
    'The currency is not known',
    'The currency is not an active ISO 4217 code in which payments are made.',
  ),
  currency_mismatch: refused(
    422,
    'The currency differs from the transaction',
    'Capture, refund and cancel are made in the currency of their transaction.',
  ),
  entity_mismatch: refused(
    422,
    'The named entities do not belong together',
    'The store is not one of the merchant, or the device is not one of the store.',
  ),
  client_id_invalid: refused(
    422,
    'The client identifier cannot be used',
    'A client identifier has 1 to 64 characters of A-Z a-z 0-9 . _ : - and equals no server identifier.',
  ),
  idempotency_key_mismatch: refused(
    422,
    'The idempotency key contradicts the body',
    'The Idempotency-Key header and clientOperationId mean the same and carry different values.',
  ),
  entry_mode_invalid: refused(
    422,
    'The entry mode is not valid here',
    'The entry mode is not known, or does not fit the instrument; mail and telephone orders are Keyed.',
  ),
  instrument_invalid: refused(
    422,
    'The instrument does not fit',
    'The instrument must hold exactly the card data that the entry mode calls for.',
  ),
  card_number_invalid: refused(
    422,
    'The card number is not valid',
    'A card number has 12 to 19 digits of which the last one is the check digit.',
  ),
  card_expired_input: refused(
    422,
    'The card has expired',
    'The expiry that was sent lies in the past, so the card was not presented to the acquirer.',
  ),
  card_token_unknown: refused(
    422,
    'The card token is not known',
    'No card of this organisation is stored under the token, or its retention has ended.',
  ),
  track_data_invalid: refused(
    422,
    'The track data is not valid',
    'The track is not in the format of ISO/IEC 7813, or its card number fails the check digit.',
  ),
  emv_data_invalid: refused(
    422,
    'The chip data is not valid',
    'The chip data is not well-formed BER-TLV, or lacks an object that a chip sale needs.',
  ),
  emv_data_mismatch: refused(
    422,
    'The chip data contradicts the request',
    'The amount or currency that the chip signed, or its card data, differs from the rest.',
  ),
  avs_data_required: refused(
    422,
    'The address data is incomplete',
    'Address verification needs zipCode and houseNumber together.',
  ),
  moto_contact_required: refused(
    422,
    'A contact is needed for a mail or telephone order',
    'Without address verification the instrument needs an address with e-mail or phone.',
  ),
  pin_data_incomplete: refused(
    422,
    'The PIN data is incomplete',
    'ksn, pinblock and pinblockFormat come together or not at all.',
  ),
  pin_format_unsupported: refused(
    422,
    'The PIN block format is not supported',
    'The format does not fit the key serial number, or is not one of ISO0, ISO1, ISO3 and ISO4.',
  ),
  offline_limit_exceeded: refused(
    422,
    'The offline limit is exceeded',
    'The offline sale is above the amount that the acquirer contract allows without connection.',
  ),
  offline_too_old: refused(
    422,
    'The offline sale is too old',
    'The offline sale was made longer ago than the acquirer contract allows.',
  ),
  too_late: refused(
    422,
    'The request arrived too late',
    'The request came after its own notAfter; nothing was processed.',
  ),
  approval_code_required: refused(
    422,
    'An approval code is needed',
    'The organisation asks for an approval code for refund and cancel.',
  ),
  approval_code_invalid: refused(
    422,
    'The approval code is not valid',
    'The approval code is unknown, used up or expired; a code that is sent is always checked.',
  ),
  approval_code_locked: refused(
    422,
    'The approval code is locked',
    'Too many wrong approval codes were tried; wait or use another code.',
  ),
} as const;

/** What the path or the body points at. Another tenant's identifier answers as an unknown one. */
const lookupCodes = {
  organization_not_found: refused(
    404,
    'The organisation is not found',
    'No organisation in your scope has this identifier.',
  ),
  merchant_not_found: refused(
    404,
    'The merchant is not found',
    'No merchant in your scope has this identifier.',
  ),
  store_not_found: refused(
    404,
    'The store is not found',
    'No store in your scope has this identifier.',
  ),
  device_not_found: refused(
    404,
    'The device is not found',
    'No logical or physical device in your scope has this identifier.',
  ),
  transaction_not_found: refused(
    404,
    'The transaction is not found',
    'No transaction in your scope has this server or client identifier.',
  ),
  batch_not_found: refused(
    404,
    'The batch is not found',
    'No batch in your scope has this identifier.',
  ),
  resource_not_found: refused(
    404,
    'The resource is not found',
    'Nothing in your scope has the identifier in the path.',
  ),
  already_exists: refused(
    409,
    'The resource exists already',
    'Another resource holds the value that must be unique; the pointer names the member.',
  ),
  has_dependants: refused(
    409,
    'The resource has dependants',
    'Other resources depend on this one; delete or move those that the detail names first.',
  ),
  concurrent_modification: refusedForNow(
    409,
    'The resource was changed at the same time',
    'Another request changed the resource first; read it again and repeat the change.',
  ),
  precondition_failed: refused(
    412,
    'The resource has changed since it was read',
    'The If-Match header does not match the current ETag; read the resource again.',
  ),
  precondition_required: refused(
    428,
    'The If-Match header is needed',
    'Send the ETag that the resource was read with, so that no change of others is overwritten.',
  ),
} as const;

/** Idempotency. */
const idempotencyCodes = {
  client_id_reused: refused(
    422,
    'The client identifier was used for another request',
    'The identifier belongs to an earlier request with other contents; the pointers name the members.',
  ),
  request_in_progress: refusedForNow(
    409,
    'The same request is still running',
    'An earlier request with this identifier has not finished; repeat it later for its answer.',
  ),
  transaction_ambiguous: refused(
    409,
    'The identifier matches several transactions',
    'Several merchants in your scope used this client identifier; add the merchantId parameter.',
  ),
  transaction_archived: refused(
    409,
    'The transaction is archived',
    'The identifier belongs to a transaction past its retention; its final state is in the problem.',
  ),
} as const;

/** State and amount: what the transaction still allows. */
const stateCodes = {
  transaction_in_progress: refusedForNow(
    409,
    'The transaction is still in progress',
    'The sale has no outcome yet; ask for its status and repeat the operation then.',
  ),
  reversal_in_progress: refused(
    409,
    'The transaction is being reversed',
    'The outcome of the sale was unknown, so it is being reversed; nothing else can be done with it.',
  ),
  batch_running: refusedForNow(
    409,
    'A batch is still running',
    'A capture of all transactions with this scope is running; wait for its end.',
  ),
  not_authorized: refused(
    422,
    'The transaction is not authorised',
    'The operation needs an authorisation, and the transaction holds none.',
  ),
  transaction_declined: refused(
    422,
    'The transaction was declined',
    'A declined sale stays declined; send a new sale with a new identifier.',
  ),
  transaction_failed: refused(
    422,
    'The transaction failed',
    'The sale never reached the acquirer; send a new sale with a new identifier.',
  ),
  transaction_reversed: refused(
    422,
    'The transaction was reversed',
    'The sale was taken back in full, so there is nothing left to operate on.',
  ),
  authorization_expired: refused(
    422,
    'The authorisation has expired',
    'The hold lapsed after the days of the acquirer contract.',
  ),
  not_captured: refused(
    422,
    'Nothing has been captured',
    'A refund needs a captured amount; cancel the authorisation instead.',
  ),
  nothing_to_capture: refused(
    422,
    'Nothing is left to capture',
    'The authorised amount is captured or cancelled already.',
  ),
  already_captured: refused(
    422,
    'The transaction is captured already',
    'A captured amount cannot be cancelled; refund it instead.',
  ),
  already_cancelled: refused(
    422,
    'The transaction is cancelled already',
    'The whole authorisation was cancelled by an earlier operation.',
  ),
  already_refunded: refused(
    422,
    'The transaction is refunded already',
    'The whole captured amount was refunded by earlier operations.',
  ),
  not_refundable: refused(
    422,
    'The transaction cannot be refunded',
    'The transaction is of a kind that has no refund.',
  ),
  refund_window_closed: refused(
    422,
    'The time for refunds has passed',
    'The acquirer contract accepts refunds for a limited time after the capture.',
  ),
  capture_amount_exceeded: refused(
    422,
    'The capture exceeds what is left to capture',
    'The amount is above the open authorised amount; maxAmount tells what is left.',
  ),
  cancel_amount_exceeded: refused(
    422,
    'The cancel exceeds what is left to cancel',
    'The amount is above the open authorised amount; maxAmount tells what is left.',
  ),
  refund_amount_exceeded: refused(
    422,
    'The refund exceeds what is left to refund',
    'The amount is above the captured amount less its refunds; maxAmount tells what is left.',
  ),
  partial_reversal_not_supported: refused(
    422,
    'A technical cancel is for the whole amount',
    'A cancel with reason Technical takes the whole sale back; leave the amount out.',
  ),
} as const;

/** Configuration: what the merchant's contract and services allow. */
const configurationCodes = {
  no_acquirer_for_merchant: refused(
    422,
    'No acquirer contract fits',
    'The merchant has no enabled acquirer contract for this payment.',
  ),
  currency_not_supported: refused(
    422,
    'The currency is not in the acquirer contract',
    'The currency is known, and the acquirer contract of the merchant does not list it.',
  ),
  capture_mode_not_supported: refused(
    422,
    'The capture mode is not in the acquirer contract',
    'The acquirer contract of the merchant does not list this capture mode.',
  ),
  multiple_capture_not_supported: refused(
    422,
    'Only one capture is possible',
    'The acquirer contract of the merchant allows one capture for each authorisation.',
  ),
  partial_cancel_not_supported: refused(
    422,
    'A partial cancel is not possible',
    'The acquirer cannot cancel a part; cancel all that is open, or capture and refund.',
  ),
  partial_approval_not_supported: refused(
    422,
    'A partial approval is not possible',
    'The acquirer contract of the merchant does not allow partial approvals.',
  ),
  clear_card_data_refused: refused(
    422,
    'Clear card data is refused',
    'The acquirer contract of the merchant accepts encrypted card data and tokens alone.',
  ),
  payment_type_not_enabled: refused(
    422,
    'The payment type is not enabled',
    'No provider service that is active for the device declares this payment type.',
  ),
  provider_not_subscribed: refused(
    422,
    'The provider service is not subscribed',
    'The organisation has no subscription that holds the service of this provider.',
  ),
} as const;

/** Load, and faults of ours or of the parties behind us. */
const serverCodes = {
  rate_limited: refusedForNow(
    429,
    'Too many requests',
    'The limit of the client, device or store is reached; Retry-After tells when to go on.',
  ),
  internal_error: notKnown(
    500,
    'An internal error occurred',
    'A fault of the platform; ask for the status of the transaction before trying again.',
  ),
  acquirer_rejected_message: refused(
    502,
    'The acquirer rejected the message',
    'The acquirer answered that it cannot read the message; nothing was processed.',
  ),
  provider_bad_answer: notKnown(
    502,
    'The provider gave an unusable answer',
    'The service provider answered outside its interface; ask for the status of the payment.',
  ),
  acquirer_unavailable: refusedForNow(
    503,
    'The acquirer is not available',
    'No link to the acquirer is open, and nothing was sent; try again later or work offline.',
  ),
  hsm_unavailable: refusedForNow(
    503,
    'The security module is not available',
    'The PIN could not be translated, and nothing was sent to the acquirer.',
  ),
  database_unavailable: notKnown(
    503,
    'The database is not available',
    'The platform cannot reach its database; ask for the status of the transaction afterwards.',
  ),
  overloaded: refusedForNow(
    503,
    'The platform is overloaded',
    'A queue is full, so the request was refused before anything was done; wait for Retry-After.',
  ),
  shutting_down: refusedForNow(
    503,
    'The process is shutting down',
    'The process takes no new requests; send the request again, another process will answer.',
  ),
  acquirer_timeout: notKnown(
    504,
    'The acquirer did not answer in time',
    'No answer came and the reversal could not be made durable; ask for the status.',
  ),
  provider_timeout: notKnown(
    504,
    'The provider did not answer in time',
    'The service provider gave no answer; ask for the status of the payment.',
  ),
} as const;

export const errorTable = {
  ...transportCodes,
  ...accessCodes,
  ...fieldCodes,
  ...lookupCodes,
  ...idempotencyCodes,
  ...stateCodes,
  ...configurationCodes,
  ...serverCodes,
} as const;
