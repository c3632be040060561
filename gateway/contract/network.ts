const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.|$)){4}$/u;
const IPV6 = /^(?=[^:]*:)[\da-f:.]+$/iu;

/** Returns the problem of a network in CIDR notation, such as 10.0.0.0/8 or fd00::/8, whose hosts are to be trusted. */
export function networkFault(text: string): string | undefined {
  const [, address = '', digits = ''] = /^([^/]+)\/(\d{1,3})$/u.exec(text) ?? [];
  const ipv6 = IPV6.test(address) && URL.canParse(`http://[${address}]/`);
  if (!ipv6 && !IPV4.test(address)) return `"${text}" is not a network: write ADDRESS/BITS, such as 10.0.0.0/8`;
  const bits = Number(digits);
  if (bits > (ipv6 ? 128 : 32)) return `"${text}" has more bits than an address: write /${ipv6 ? '128' : '32'} or less`;
  return bits === 0 ? `"${text}" holds every address, so that everybody would be trusted: name the proxies` : undefined;
}
