export { isHeaderValue, isProtocolHeader } from '../../gateway/contract/header-names.ts';
