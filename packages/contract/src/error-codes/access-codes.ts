/** Error codes of the first checks: transport, authentication and permissions. */
import { permanentError, reservedPermanentError, temporaryError } from './error-code-kinds.ts';

/** Size, media type and headers; checked before the body is read. */
export const transportCodes = {
  request_malformed: permanentError(
    400,
    'The request is not valid HTTP',
    'The server cannot read the request line, a header or the encoding of the address.',
  ),
  missing_header: reservedPermanentError(
    400,
    'A required header is missing',
    'The operation requires a header that the request does not contain; the detail names it.',
  ),
  header_invalid: permanentError(
    400,
    'A header has an invalid value',
    'A header has a value that is not in its format; the detail names the header.',
  ),
  request_timeout: temporaryError(
    408,
    'The request did not arrive in time',
    'The client did not send the whole request within the time limit.',
  ),
  payload_too_large: permanentError(
    413,
    'The body is too large',
    'The body is longer than the limit of the operation: 1 MiB unless documented otherwise.',
  ),
  uri_too_long: permanentError(
    414,
    'The address is too long',
    'The address of the request with its query is longer than the limit.',
  ),
  unsupported_media_type: permanentError(
    415,
    'The media type is not supported',
    'The operation accepts application/json in UTF-8, or the media type that its page names.',
  ),
  headers_too_large: permanentError(
    431,
    'The headers are too large',
    'The headers of the request together are longer than the limit.',
  ),
  route_not_found: permanentError(
    404,
    'The address does not exist',
    'The platform has no operation with this path; compare it with the OpenAPI document.',
  ),
  method_not_allowed: permanentError(
    405,
    'The method is not allowed here',
    'The path exists, but not with this method; the Allow header lists the methods.',
  ),
  not_acceptable: permanentError(
    406,
    'No acceptable representation',
    'The operation cannot answer with any media type in the Accept header.',
  ),
  endpoint_gone: reservedPermanentError(
    410,
    'The address has been withdrawn',
    'The operation was removed after its announced sunset date.',
  ),
  version_retired: reservedPermanentError(
    410,
    'The version has been retired',
    'The version in the path is past its announced sunset date; use the next version.',
  ),
} as const;

/** Authentication, permission and scope. */
export const accessCodes = {
  token_missing: permanentError(
    401,
    'An access token is required',
    'Send the header Authorization: Bearer with an access token of your user domain.',
  ),
  token_invalid: permanentError(
    401,
    'The access token is not valid',
    'The token is malformed, revoked, not signed by a known realm, or not meant for this platform.',
  ),
  token_expired: permanentError(
    401,
    'The access token has expired',
    'Request a new access token and send the request again with it.',
  ),
  certificate_required: permanentError(
    401,
    'A client certificate is required',
    'The operation or the token requires a client certificate, and the connection has none.',
  ),
  certificate_invalid: permanentError(
    401,
    'The client certificate is not accepted',
    'The certificate has no trusted authority, belongs to no known device, or is not valid yet.',
  ),
  certificate_expired: permanentError(
    401,
    'The client certificate has expired',
    'Request a new certificate for the device and connect with it.',
  ),
  certificate_revoked: permanentError(
    401,
    'The client certificate was revoked',
    'The certificate was revoked before it expired; the device needs a new key and a new certificate.',
  ),
  permission_denied: permanentError(
    403,
    'The permission is missing',
    'The token is valid but has not the permission that the operation requires; the detail names it.',
  ),
  entity_out_of_scope: permanentError(
    403,
    'The entity is outside the scope of the token',
    'The token is limited to another merchant, store or device than the request names.',
  ),
  user_deactivated: permanentError(
    403,
    'The user is deactivated',
    'A deactivated user cannot use the platform; an administrator can activate the user again.',
  ),
  merchant_not_active: permanentError(
    403,
    'The merchant is not active',
    'The merchant exists but is disabled in provisioning.',
  ),
  store_not_active: permanentError(
    403,
    'The store is not active',
    'The store exists but is disabled in provisioning.',
  ),
  device_not_active: permanentError(
    403,
    'The device is not active',
    'The device is disabled, or it is not linked to an enabled store.',
  ),
  device_without_store: permanentError(
    403,
    'The device is not assigned to a store',
    'Link the physical device to a logical device of a store; an unlinked device has no merchant.',
  ),
  device_not_claimed: permanentError(
    403,
    'The terminal is not claimed',
    "Use a manufacturer's certificate and name the user domain, or enter the claim code that the terminal shows.",
  ),
  certificate_mismatch: permanentError(
    403,
    'The certificate belongs to another device',
    'The serial number in the request, or that of the device, differs from the one in the certificate.',
  ),
} as const;
