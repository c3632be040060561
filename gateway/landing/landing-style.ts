/** Style of the page at `/`, behind the style of all pages. */
export const LANDING_STYLE = `
[hidden]{display:none}
.copyable{display:flex;gap:.75rem;align-items:flex-start}
.copyable code,.copyable pre{flex:1 1 auto;min-width:0;color:var(--text)}
.copyable button{flex:0 0 auto;min-height:2.75rem;padding:.25rem 1rem;font-size:.875rem}
.target.copyable{align-items:center}
.target code{font:600 1rem/1.4 ui-monospace,monospace;color:var(--text)}
details{border-top:1px solid var(--line)}
details:last-of-type{border-bottom:1px solid var(--line)}
summary{padding:.625rem 0;min-height:2.75rem;cursor:pointer;font-weight:600}
details>p{margin-top:0}
main>.copyable,details>.copyable{margin-bottom:1rem}
pre{margin:0;padding:.75rem;background:var(--well);border-radius:.5rem}
pre{font:.8125rem/1.5 ui-monospace,monospace;white-space:pre-wrap}
pre span{display:inline-block;max-width:100%}
.button{display:inline-block;padding:.5625rem 1.25rem .625rem;border-radius:.5rem;font-weight:600}
.button{background:var(--accent);color:var(--onAccent);text-decoration:none}
.links{display:flex;flex-wrap:wrap;gap:.75rem;margin-bottom:1rem}
.unseen{position:absolute;width:1px;height:1px;margin:-1px;overflow:hidden;clip-path:inset(50%)}
@media (max-width:38rem){.copyable:has(pre){flex-direction:column;align-items:stretch}.target code{font-size:.875rem}}
`;
