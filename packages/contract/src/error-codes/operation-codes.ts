/** Error codes of lookups, of the state of a transaction, and of contracts. */
import {
  permanentError,
  reserve,
  reservedPermanentError,
  temporaryError,
  unknownOutcomeOnce,
} from './error-code-facts.ts';

/** Entities that the path or the body names. An identifier of another tenant counts as unknown. */
export const lookupCodes = {
  organization_not_found: permanentError(
    404,
    'The organisation is not found',
    'No organisation in your scope has this identifier.',
  ),
  merchant_not_found: permanentError(
    404,
    'The merchant is not found',
    'No merchant in your scope has this identifier.',
  ),
  store_not_found: permanentError(
    404,
    'The store is not found',
    'No store in your scope has this identifier.',
  ),
  device_not_found: permanentError(
    404,
    'The device is not found',
    'No logical or physical device in your scope has this identifier.',
  ),
  transaction_not_found: permanentError(
    404,
    'The transaction is not found',
    'No transaction in your scope has this server or client identifier.',
  ),
  settlement_not_found: permanentError(
    404,
    'The settlement is not found',
    'No settlement in your scope has this identifier.',
  ),
  batch_not_found: permanentError(
    404,
    'The batch is not found',
    'No batch in your scope has this identifier.',
  ),
  resource_not_found: permanentError(
    404,
    'The resource is not found',
    'Nothing in your scope has the identifier in the path.',
  ),
  events_forgotten: permanentError(
    410,
    'These events are not kept any more',
    'The position lies before the oldest event that is kept; start there, and compare your data with the API.',
  ),
  service_not_found: permanentError(
    404,
    'The service is not found',
    'The catalogue shows you no service of this identifier; only the provider sees drafts.',
  ),
  endpoint_not_found: permanentError(
    404,
    'The endpoint is not found',
    'No endpoint of webhooks in your scope has this identifier.',
  ),
  delivery_not_found: permanentError(
    404,
    'The delivery is not found',
    'No delivery in your scope has this identifier; old ones are deleted in time.',
  ),
  already_exists: permanentError(
    409,
    'The resource exists already',
    'Another resource holds the value that must be unique; the pointer names the member.',
  ),
  certificate_limit_reached: permanentError(
    409,
    'The device has too many certificates',
    'Revoke the certificates that the device no longer uses, then ask for a new one.',
  ),
  has_dependants: permanentError(
    409,
    'The resource has dependants',
    'Other resources depend on this one; delete or move those that the detail names first.',
  ),
  service_state: permanentError(
    409,
    'The state of the service does not allow this',
    'Only a published service can be offered and activated, and only a draft can be deleted.',
  ),
  activation_state: permanentError(
    409,
    'The state of the activation does not allow this',
    'Read the activation: it was decided, switched off or asked for again in the meantime.',
  ),
  endpoint_state: permanentError(
    409,
    'The state of the endpoint does not allow this',
    'Read the endpoint: it is disabled, or has to answer its challenge first.',
  ),
  endpoint_limit_reached: permanentError(
    409,
    'The organisation has too many endpoints',
    'Delete the endpoints that are no longer used, or let one take the events of several.',
  ),
  endpoint_unverified: permanentError(
    409,
    'The endpoint did not answer its challenge',
    'It has to verify the signature and answer 200 with the challenge as the whole body.',
  ),
  replay_running: permanentError(
    409,
    'A replay to the endpoint is under way',
    'One replay of an endpoint runs at a time; the problem names its positions. Begin again once it has ended.',
  ),
  keys_renewed_often: temporaryError(
    409,
    'The keys were renewed too often',
    'Each key signs for 24 hours beside its successor, and three of them at a time; renew again once the oldest has ended.',
  ),
  application_state: permanentError(
    409,
    'The application does not wait for approval',
    'Only an application with the status PendingApproval can be approved; read it again.',
  ),
  delivery_state: permanentError(
    409,
    'The delivery cannot be sent again',
    'Its event is no longer kept, or its endpoint is gone.',
  ),
  concurrent_modification: temporaryError(
    409,
    'The resource was changed at the same time',
    'Another request changed the resource first; read it again and repeat the change.',
  ),
  precondition_failed: permanentError(
    412,
    'The resource has changed since it was read',
    'The If-Match header does not match the current ETag; read the resource again.',
  ),
  precondition_required: reservedPermanentError(
    428,
    'The If-Match header is needed',
    'Send the ETag that the resource was read with, so that no change of others is overwritten.',
  ),
} as const;

/** Idempotency. */
export const idempotencyCodes = {
  client_id_reused: permanentError(
    422,
    'The client identifier was used for another request',
    'The identifier belongs to an earlier request with other contents; the pointers name the members.',
  ),
  offline_sequence_reused: permanentError(
    422,
    'The terminal has used this number for another offline sale',
    'The terminal used this terminalSequence for another sale; the problem names that sale.',
  ),
  offline_sale_already_uploaded: {
    ...permanentError(
      409,
      'The offline sale was uploaded under another identifier',
      'The problem names the first transaction; use its clientTransactionId, and never this identifier again.',
    ),
    outcome: 'Processed',
  },
  request_in_progress: temporaryError(
    409,
    'The same request is still running',
    'An earlier request with this identifier has not finished; repeat it later for its answer.',
  ),
  request_interrupted: unknownOutcomeOnce(
    409,
    'The same request was cut off',
    'An earlier request with this key was cut off and may have been done; look before you take another key.',
  ),
  transaction_ambiguous: permanentError(
    409,
    'The identifier matches several transactions',
    'Several merchants in your scope used this client identifier; add the merchantId parameter.',
  ),
  transaction_archived: reservedPermanentError(
    409,
    'The transaction is archived',
    'The identifier belongs to a transaction past its retention; its final state is in the problem.',
  ),
} as const;

/** State and amount: the transaction does not allow the operation. */
export const stateCodes = {
  transaction_in_progress: temporaryError(
    409,
    'The transaction is still in progress',
    'The sale, or an operation on it, has no outcome yet; ask for the status and repeat the operation then.',
  ),
  reversal_in_progress: permanentError(
    409,
    'The transaction is being reversed',
    'The outcome of the sale was unknown, so it is being reversed; nothing else can be done with it.',
  ),
  confirmation_pending: temporaryError(
    409,
    'The sale awaits its confirmation',
    'Confirm the sale, or take it back with a Technical cancel; unconfirmed it is reversed in time.',
  ),
  batch_running: reserve(
    temporaryError(
      409,
      'A batch is still running',
      'A capture of all transactions with this scope is running; wait for its end.',
    ),
  ),
  not_authorized: permanentError(
    422,
    'The transaction is not authorised',
    'The operation needs an authorisation, and the transaction holds none.',
  ),
  transaction_declined: permanentError(
    422,
    'The transaction was declined',
    'A declined sale stays declined; send a new sale with a new identifier.',
  ),
  transaction_failed: reservedPermanentError(
    422,
    'The transaction failed',
    'The sale never reached the acquirer; send a new sale with a new identifier.',
  ),
  transaction_reversed: permanentError(
    422,
    'The transaction was reversed',
    'The sale was taken back in full, so there is nothing left to operate on.',
  ),
  authorization_expired: permanentError(
    422,
    'The authorisation has expired',
    'The hold lapsed after the days of the acquirer contract.',
  ),
  not_captured: permanentError(
    422,
    'Nothing has been captured',
    'A refund needs a captured amount; cancel the authorisation instead.',
  ),
  nothing_to_capture: permanentError(
    422,
    'Nothing is left to capture',
    'The authorised amount is captured or cancelled already.',
  ),
  nothing_to_cancel: permanentError(
    422,
    'Nothing is held that could be cancelled',
    'A verification of the card holds no amount.',
  ),
  already_captured: permanentError(
    422,
    'The transaction is captured already',
    'A captured amount cannot be cancelled; refund it instead.',
  ),
  already_cancelled: permanentError(
    422,
    'The transaction is cancelled already',
    'The whole authorisation was cancelled by an earlier operation.',
  ),
  already_refunded: permanentError(
    422,
    'The transaction is refunded already',
    'The whole captured amount was refunded by earlier operations.',
  ),
  not_refundable: reservedPermanentError(
    422,
    'The transaction cannot be refunded',
    'The transaction is of a kind that has no refund.',
  ),
  refund_window_closed: reservedPermanentError(
    422,
    'The time for refunds has passed',
    'The acquirer contract accepts refunds for a limited time after the capture.',
  ),
  capture_amount_exceeded: permanentError(
    422,
    'The capture exceeds what is left to capture',
    'The amount exceeds the open authorised amount; maxAmount is the remaining amount.',
  ),
  cancel_amount_exceeded: permanentError(
    422,
    'The cancel exceeds what is left to cancel',
    'The amount exceeds the amount that is neither captured nor cancelled; maxAmount is the remaining amount.',
  ),
  refund_amount_exceeded: permanentError(
    422,
    'The refund exceeds what is left to refund',
    'The amount exceeds the captured amount minus its refunds; maxAmount is the remaining amount.',
  ),
  not_completed: permanentError(
    422,
    'Nothing has been paid',
    'A refund needs a completed QR payment; one that is not paid yet is cancelled instead.',
  ),
  already_completed: permanentError(
    422,
    'The payment is completed already',
    'A QR payment that was paid cannot be cancelled; refund it instead.',
  ),
  payment_held: permanentError(
    409,
    'The payment is held',
    'The paid amount differs from the requested one, or the refund failed; an operator must resolve the payment.',
  ),
  payment_not_held: permanentError(
    422,
    'The payment is not held',
    'Nothing about this QR payment waits for a decision.',
  ),
  resolution_not_possible: permanentError(
    409,
    'It cannot be resolved in this way',
    'The operation has ended or may still end without a manual decision; the detail gives the allowed decisions.',
  ),
  event_limit_reached: permanentError(
    422,
    'The payment has too many events',
    'No more events of its provider, cancels or refunds are taken for this payment.',
  ),
  partial_reversal_not_supported: permanentError(
    422,
    'A technical cancel is for the whole amount',
    'A cancel with reason Technical takes the whole sale back; leave the amount out.',
  ),
} as const;

/** Configuration: the merchant's contract or services do not allow the operation. */
export const configurationCodes = {
  no_acquirer_for_merchant: permanentError(
    422,
    'No acquirer contract fits',
    'The merchant has no enabled acquirer contract for this payment.',
  ),
  terminal_range_exhausted: permanentError(
    422,
    'No terminal of the acquirer contract is left',
    'Every terminal ID of the range is in use; make a contract with a wider range for the merchant.',
  ),
  currency_not_supported: permanentError(
    422,
    'The currency is not in the acquirer contract',
    'The currency is known, and the acquirer contract of the merchant does not list it.',
  ),
  capture_mode_not_supported: permanentError(
    422,
    'The capture mode is not in the acquirer contract',
    'The acquirer contract of the merchant does not list this capture mode.',
  ),
  multiple_capture_not_supported: permanentError(
    422,
    'Only one capture is possible',
    'The acquirer contract of the merchant allows one capture for each authorisation.',
  ),
  partial_cancel_not_supported: permanentError(
    422,
    'A partial cancel is not possible',
    'The acquirer cannot cancel a part; cancel all that is open, or capture and refund.',
  ),
  partial_approval_not_supported: permanentError(
    422,
    'A partial approval is not possible',
    'The acquirer contract of the merchant does not allow partial approvals.',
  ),
  clear_card_data_refused: permanentError(
    422,
    'Clear card data is refused',
    'The acquirer contract of the merchant accepts encrypted card data and tokens alone.',
  ),
  encryption_key_unknown: permanentError(
    422,
    'The encryption key is not known',
    'The security module holds no base derivation key of this name or for this serial number.',
  ),
  pin_not_supported: permanentError(
    422,
    'The acquirer takes no PIN',
    'The link of the acquirer has no zone PIN key, so no PIN can be sent on it.',
  ),
  nothing_to_clear: permanentError(
    422,
    'No capture waits for a clearing file',
    'Captures of the current day wait until it ends; set openDays to include them.',
  ),
  acknowledgement_invalid: permanentError(
    422,
    'The acknowledgement cannot be read, or is of another file',
    'The detail names the line; nothing was taken from it.',
  ),
  clearing_file_acknowledged: permanentError(
    409,
    'The clearing file was acknowledged otherwise',
    'The acquirer acknowledges a file once; the same acknowledgement again changes nothing.',
  ),
  payment_type_not_enabled: permanentError(
    422,
    'The payment type is not enabled',
    'No provider service that is active for the device declares this payment type.',
  ),
  service_not_subscribed: permanentError(
    422,
    'The service is not subscribed',
    'The organisation has no subscription to a package that holds the service.',
  ),
  provider_not_subscribed: reservedPermanentError(
    422,
    'The provider service is not subscribed',
    'The organisation has no subscription that holds the service of this provider.',
  ),
} as const;
